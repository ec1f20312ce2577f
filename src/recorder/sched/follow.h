/* The kernel's events that write the scheduling lane's records: a ring for each CPU, and an event for each CPU and thread that is followed; whom
 * that thread begins is followed, too.
 *
 *   at the start   the first process, which begins all others
 *   in a rest      nobody. Events that are only told to be silent cost half a microsecond a switch all the same: so they are closed
 *   behind it      each thread that there is. Who begins while these are looked for may be missed: of that thread, and of whom it begins, nobody
 *                  knows when it ran, as behind each rest up to a thread's next record (abi/sched.h)
 *
 * Where there are too many threads for that, events stay open in a rest, and silent.
 */
#ifndef ADA_RECORDER_SCHED_FOLLOW_H
#define ADA_RECORDER_SCHED_FOLLOW_H
#include "base/array.h"
#include "recorder/sched/ring.h"
#include "recorder/sched/threads.h"

struct ada_sched_follow {
	struct ada_sched_ring *rings; /* the caller's */
	int cpus;		      /* of them */
	uint32_t pages;		      /* of a ring */
	bool kernel_faults;	      /* whether these are counted, too */
	struct ada_sched_source source;
	ADA_ARRAY(int) events; /* beside the rings' own */
};
/* A process that hasn't executed its program yet. The CPUs that are there take the rings, as many as there are of both. 0 or -errno. */
int ada_sched_follow_first(struct ada_sched_follow *follow, pid_t pid);
void ada_sched_follow_hush(struct ada_sched_follow *follow);  /* no record is on its way behind this */
void ada_sched_follow_rest(struct ada_sched_follow *follow);  /* behind that, once all rings are read */
bool ada_sched_follow_again(struct ada_sched_follow *follow); /* false: nobody could be followed, and the rest goes on */
void ada_sched_follow_close(struct ada_sched_follow *follow);
#endif
