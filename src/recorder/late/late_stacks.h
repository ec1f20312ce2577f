/* Where a stopped thread may come back to: the words on its stacks that look like addresses of interest. */
#ifndef ADA_RECORDER_LATE_STACKS_H
#define ADA_RECORDER_LATE_STACKS_H
#include "recorder/late/late_threads.h"

struct ada_stacks_look {
	struct ada_late_range span; /* the words of interest */
	uint64_t deadline_ns;	    /* boot time; 0: none */
	void (*met)(void *context, uint64_t word);
	void *context;
};
/* Calls `met` with each such word on the thread's stack, from the red zone up, and on each stack that this one was come to from: of a
 * handler on an alternate stack, and of the agent's slow paths (abi/aside.h). Most words that it is called with are just numbers alike.
 * 0; or -EAGAIN, -ENOMEM: not all was looked at. Stacks that the program itself left are not found: nobody but it knows of them. */
int ada_stacks_look(const struct ada_hold *hold, const struct ada_held *thread, const struct ada_stacks_look *look);
#endif
