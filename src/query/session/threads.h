/* The threads of a process: which there are, and their files, opened side by side. */
#ifndef ADA_QUERY_THREADS_H
#define ADA_QUERY_THREADS_H
#include "atf/session/thread.h"
#include "query/session/session.h"

struct ada_ahead;

struct ada_thread_numbers { /* of threads */
	uint32_t *items;
	size_t count, capacity;
};

/* The directories that there are, by number. The caller frees the array. 0 or -ENOMEM. */
int ada_threads_list(struct ada_thread_numbers *found, const char *path);
/* Adds the manifest's threads, and those found that it doesn't mention (yet). `ahead`: opens some of them, or NULL. 0 or -ENOMEM. */
int ada_threads_add(struct ada_process *process, const struct ada_thread_numbers *found, struct ada_ahead *ahead);
/* The manifest has the names of a process's threads from its end on: until then the system knows those that run. */
void ada_threads_name_live(struct ada_process *process);
/* atf_thread_open of a thread that may be being recorded: a packed file loses the place of its last short block when it is finished, which
 * may be while it is looked through. Then it is opened again. */
int ada_live_open(struct atf_thread **thread, const char *directory, struct atf_message *message);
#endif
