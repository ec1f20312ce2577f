/* The code of a process that runs, as it is in its memory, and what of it belongs to which module. Main thread. */
#ifndef ADA_RECORDER_TEXT_H
#define ADA_RECORDER_TEXT_H
#include "abi/page.h"
#include "plan/plan.h"
#include "recorder/state/state.h"

#define ADA_TEXT_CELL_BYTES 64u /* trampolines begin at multiples of these */

struct ada_text_module {
	const struct ada_plan *plan; /* NULL: not decoded, or the module isn't loaded */
	uint64_t base;
	bool traced;
};
struct ada_text_slot {
	uint64_t function_id, at, trampoline, target;
};
/* A process's code as it is now. */
struct ada_text {
	int memory;    /* of this very image: an exec makes another; -1: not to be had */
	uint64_t time; /* since when blocks are remembered; 0: all is read anew */
	ADA_ARRAY(struct ada_text_module) modules;
	ADA_ARRAY(struct ada_text_slot) slots; /* that lead to trampolines, by function */
	ADA_ARRAY(uint64_t) mutexes;	       /* functions that may have a filter */
	ADA_ARRAY(uint64_t) calls;	       /* that earlier runs made, in order: where they return to */
};

/* 0 or -errno; -EAGAIN: the process isn't this image yet, or not any more. Needs the segment mapped. */
int ada_text_open(struct ada_text *text, const struct ada_provider *provider);
void ada_text_close(struct ada_text *text);
/* So many bytes of its memory. False: they can't be read. */
bool ada_text_get(const struct ada_text *text, uint64_t at, void *bytes, size_t count);
/* From now on a block is read once, when it is first asked for, until ada_text_forget: while words are looked for. */
void ada_text_remember(struct ada_text *text);
void ada_text_forget(struct ada_text *text);
/* Looks at the modules and their slots anew. Needs the segment mapped. */
void ada_text_look(struct ada_text *text, struct ada_provider *provider);
int ada_text_copy(struct ada_text *text, const struct ada_text *from); /* what a look at a fork's parent has found. 0 or -ENOMEM */
/* Whether the function's hook is one that can let calls pass, whatever its words are. */
bool ada_text_may_pass(const struct ada_text *text, uint64_t function_id);
/* Whether the trampoline or near stub at that address is the function's. */
bool ada_text_is_hook(const struct ada_text *text, uint64_t code, uint64_t function_id);
/* The function's module, and the function; NULL: its plan isn't known. */
const struct ada_text_module *ada_text_module_of(const struct ada_text *text, uint64_t function_id,
						 const struct ada_plan_function **function);
#endif
