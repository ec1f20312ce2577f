/* Finds, holds, looks at, steps and lets go the threads of a process. One thread does it all, the one that traces them; when that thread
 * ends, the kernel lets go of what it held. */
#ifndef ADA_RECORDER_LATE_THREADS_H
#define ADA_RECORDER_LATE_THREADS_H
#include <stdbool.h>
#include <sys/user.h>
#include "recorder/late/late.h"

struct ada_held {
	pid_t tid;
	bool stopped, gone;
	int signal;			   /* that came while the thread was held: delivered when it goes on; 0: none */
	struct user_regs_struct registers; /* as it was stopped */
};
struct ada_hold {
	pid_t pid;
	ADA_ARRAY(struct ada_held) threads;
	uint64_t deadline_ns;
	uint64_t limit_ns;     /* so long threads may stand still while others are awaited; 0: until the deadline */
	bool precedes;	       /* this thread goes before those that it waits for, which get its CPU while it sleeps alone */
	uint64_t still_ns;     /* filled in: since when threads have stood still; 0: none has */
	uint64_t still_cpu_ns; /* and the CPU time that this thread had used by then */
	struct ada_error *error;
};

/* Stops threads until every one is stopped and no new one appears. -ETIMEDOUT: one of them can't be stopped now. */
int ada_hold_all(struct ada_hold *hold);
void ada_hold_release(struct ada_hold *hold); /* all go on */
/* The next stop of one thread. *event: enum __ptrace_eventcodes, or 0; *signal: of the stop. -ESRCH, -ETIMEDOUT. */
int ada_hold_wait(struct ada_hold *hold, struct ada_held *thread, int *signal, int *event);
/* Steps the thread out of the ranges, one instruction after the other. -EBUSY: the thread waits in the kernel, and would come back into
 * them. */
int ada_hold_step_out(struct ada_hold *hold, struct ada_held *thread, const struct ada_late *late);
/* True where the thread's program counter lies in an rseq critical section, which must end, or be aborted, before anything else.
 * *abort_at: where the kernel would let the thread go on after a preemption; 0: not known. */
bool ada_hold_in_rseq(const struct ada_held *thread, uint64_t *abort_at);
/* All signals but those that an instruction raises. */
#define ADA_HOLD_MASK                                                                                                                      \
	(~(1ull << (SIGTRAP - 1) | 1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1) | 1ull << (SIGILL - 1) | 1ull << (SIGFPE - 1)))
#endif
