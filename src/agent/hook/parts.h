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

/* --- variant.c: for the sets of a plan (enum ada_register) */
uint64_t ada_variant_entry(uint32_t free);
uint32_t ada_variant_stub_class(uint32_t free);
bool ada_variant_is_entry(uint64_t hook); /* what ada_variant_entry() may have said */
bool ada_variant_pass_exits(void);	  /* all exit hooks become ada_pass_exit, for good */

extern const char ada_region_frames_plain_cie[] ADA_HIDDEN, ada_region_frames_plain_place[] ADA_HIDDEN,
	ada_region_frames_plain_end[] ADA_HIDDEN;

/* --- debugger.c: of code in [start, start + bytes), whose tables are ada_region_frames_plain */
void ada_debugger_tell(uint64_t start, uint64_t bytes);

#endif
