/* The scheduling lane: when threads of the recorded program ran and when not, and their page faults, into sched.atf (abi/sched.h).
 *
 *   kernel, per CPU: ring of perf records  --->  thread `sched`: every 50 ms, or when a ring is half full  --->  sched.atf
 *
 * The kernel follows all that the program starts. Nobody waits for this thread; where it comes too late, the kernel says how many
 * records are lost. */
#ifndef ADA_RECORDER_SCHED_H
#define ADA_RECORDER_SCHED_H
#include <stdint.h>
#include <sys/types.h>
#include "base/error.h"
#include "recorder/sched/roll.h"
#include "recorder/sched/threads.h"

struct ada_sched;
struct ada_sched_options {
	const char *directory;		/* of the session. It stays */
	struct ada_bound *bound;	/* NULL: the session has no limit, and the lane is one file; else see roll.h */
	double budget;			/* above 0, the lane rests where it costs more than its part of it (rest.h) */
	struct ada_sched_source source; /* whom the kernel is to follow again behind a rest */
};
/* Of a process that hasn't executed its program yet. 0, or -errno with a line that says what would allow it: then there is no lane, and no
 * file. */
int ada_sched_open(struct ada_sched **sched, pid_t pid, const struct ada_sched_options *options, struct ada_error *error);
/* Takes what the rings still hold, and finishes the file. What was written is told until then and from then on alike. NULL is fine. */
void ada_sched_stop(struct ada_sched *sched);
struct ada_sched_counts {
	struct ada_roll_counts files;
	uint64_t lost;	    /* records that the kernel dropped */
	uint64_t paused_ns; /* how long it has rested; a rest counts once it is over */
};
struct ada_sched_counts ada_sched_count(const struct ada_sched *sched);
/* What it costs of late, of the program's own time; only under a budget, else 0. NULL is fine. */
double ada_sched_share(const struct ada_sched *sched);
void ada_sched_answer(struct ada_sched *sched, const struct ada_roll_wants *wants); /* as ada_roll_answer. NULL is fine */
void ada_sched_close(struct ada_sched *sched);					    /* stops it, too. NULL is fine */
#endif
