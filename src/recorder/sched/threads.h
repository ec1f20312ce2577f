/* The threads that the recorded program has now. */
#ifndef ADA_RECORDER_SCHED_THREADS_H
#define ADA_RECORDER_SCHED_THREADS_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct ada_sched_source {
	void *context;
	/* The recorded processes that run, by whichever thread asks: fills up to `max`, how many. */
	size_t (*processes)(void *context, pid_t *pids, size_t max);
};
/* `tasks`: the process's directory of threads, open for as long as the call lasts. */
typedef void ada_sched_thread_found(void *context, int tasks, pid_t pid, pid_t tid);
#define ADA_SCHED_PROCESSES_MAX 256u						    /* that are looked at */
void ada_sched_threads_of(pid_t pid, ada_sched_thread_found *found, void *context); /* one look at those of a process */
/* One look at all of them: who begins meanwhile may be missing. False: there are more processes than are looked at. */
bool ada_sched_threads_each(const struct ada_sched_source *source, ada_sched_thread_found *found, void *context);
#endif
