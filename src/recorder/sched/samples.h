/* What the system counts of the recorded threads, looked at 10 to 100 times a second, into samples.atf: for how long each ran and waited for
 * a CPU, its page faults; for how long a hypervisor had each CPU, and the control group's limit held the program up. It needs no
 * permission, so it is all that there is where the kernel forbids perf_event_open. */
#ifndef ADA_RECORDER_SCHED_SAMPLES_H
#define ADA_RECORDER_SCHED_SAMPLES_H
#include <stdint.h>
#include <sys/types.h>
#include "base/error.h"
#include "recorder/sched/roll.h"
#include "recorder/sched/threads.h"

struct ada_samples;
/* Of the session in `directory`, which stays; `bound` as for roll.h. 0, or -errno with a line why not: then there is no file. */
int ada_samples_open(struct ada_samples **samples, const char *directory, struct ada_bound *bound, const struct ada_sched_source *source,
		     struct ada_error *error);
/* Any thread: whether it looks ten times a second at most, for the machine is full and each look delays whoever has the CPU. NULL is fine. */
void ada_samples_spare(struct ada_samples *samples, bool spares);
void ada_samples_stop(struct ada_samples *samples); /* finishes the file. NULL is fine */
struct ada_roll_counts ada_samples_count(const struct ada_samples *samples);
void ada_samples_answer(struct ada_samples *samples, const struct ada_roll_wants *wants); /* as ada_roll_answer. NULL is fine */
void ada_samples_close(struct ada_samples *samples);					  /* stops it, too. NULL is fine */
#endif
