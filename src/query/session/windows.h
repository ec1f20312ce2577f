/* Windows of a session, and how much of its detail they kept. */
#ifndef ADA_QUERY_WINDOWS_H
#define ADA_QUERY_WINDOWS_H
#include "query/session/session.h"

/* Adds the windows of a process's manifest to its session: for process.c. 0 or -ENOMEM. */
int ada_windows_add(struct ada_process *process);
/* What marked a window of the manifest, each kind once: separated by commas, and one that holds a comma itself quoted as in CSV.
 * malloc'ed, "" where the manifest names none; NULL: no memory. */
char *ada_window_kinds(const json_object *entry);
/* atf_thread_detail, and where a record is there and can't be read, that becomes a problem of the session. */
int ada_thread_detail(const struct ada_thread *thread, uint64_t position, struct atf_detail *record);
/* The problem alone, once a thread. What is still being written may look so, and is none. */
void ada_thread_detail_damaged(const struct ada_thread *thread);
/* Records in the thread's detail files with from_ns <= time < to_ns; UINT64_MAX: to the end. */
uint64_t ada_thread_details(const struct ada_thread *thread, uint64_t from_ns, uint64_t to_ns);
/* Of its events with first <= index_seq < end, those that have one. */
uint64_t ada_thread_details_at(const struct ada_thread *thread, uint64_t first, uint64_t end);
#endif
