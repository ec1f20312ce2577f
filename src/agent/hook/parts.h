/* What the files of this room call in one another. */
#ifndef ADA_AGENT_HOOK_PARTS_H
#define ADA_AGENT_HOOK_PARTS_H
#include "agent/core/state.h"
#include "agent/hook/hook.h"

/* --- hook.S */
void ada_entry(void);
void ada_pass(void);
void ada_pass_below(void);
extern uint8_t ada_exit[], ada_pass_exit[];
void ada_entry_below(void); /* for trampolines with a lead */
void ada_entry_near(void);  /* for near stubs whose call isn't known yet, or of functions that leave no register to hooks */
void ada_pass_near(void);

static inline struct ada_hook *ada_hook_of(uint8_t *cell)
{
	return (struct ada_hook *)(cell + ADA_BLOCK_BYTES);
}

/* --- variant.c: for the sets of a plan (enum ada_register) */
/* What calls the hook: a trampoline, one with a lead, or a near stub whose call is known. */
enum ada_way { ADA_WAY_ABOVE, ADA_WAY_BELOW, ADA_WAY_NEAR };
#define ADA_WAYS 3
uint64_t ada_variant_entry(enum ada_way way, uint32_t free, bool reads_vectors);
uint32_t ada_variant_stub_class(uint32_t free);
bool ada_variant_is_entry(enum ada_way way, uint64_t hook); /* what ada_variant_entry() may have said */
bool ada_variant_pass_exits(void);			    /* all exit hooks become ada_pass_exit, for good */

/* --- region.S: tables as an .eh_frame_hdr, and in them: the CIE, the word that says where the code begins, the end */
struct ada_frames {
	const char *table, *cie, *place, *end;
};
extern const char ada_region_frames[] ADA_HIDDEN;

/* --- region.c */
/* The first of that many free cells, side by side; their hooks lie a block behind. NULL: there is no room. */
uint8_t *ada_region_take(struct ada_region *region, uint32_t cells);
bool ada_region_reaches(const struct ada_region *region, uint64_t start, uint64_t end); /* all of it all of that, by 5-byte jumps */
/* What unwinders that ask _dl_find_object are told of an address; NULL: it lies in no region. Any thread, any time */
const char *ada_region_frames_of(uint64_t address);

/* --- debugger.c: of code in [start, start + bytes) */
void ada_debugger_tell(uint64_t start, uint64_t bytes, const struct ada_frames *frames);

#endif
