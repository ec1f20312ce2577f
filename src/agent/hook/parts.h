/* What the files of this room call of one another. */
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

extern const char ada_region_frames_plain_cie[] ADA_HIDDEN, ada_region_frames_plain_place[] ADA_HIDDEN,
	ada_region_frames_plain_end[] ADA_HIDDEN;

/* --- debugger.c: of code in [start, start + bytes), whose tables are ada_region_frames_plain */
void ada_debugger_tell(uint64_t start, uint64_t bytes);

#endif
