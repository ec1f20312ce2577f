/* Windows of a session, and how much of its detail they kept. */
#ifndef ADA_QUERY_WINDOWS_H
#define ADA_QUERY_WINDOWS_H
#include "query/session/session.h"

/* Adds the windows of a process's manifest to its session: for process.c. 0 or -ENOMEM. */
int ada_windows_add(struct ada_process *process);
/* What marked a window of the manifest, each kind once, separated by commas; a kind that holds a comma itself is quoted as in CSV.
 * malloc'ed, "" where the manifest names none; NULL: no memory. */
char *ada_window_kinds(const json_object *entry);
/* Thread and thread-wide position of the event that a mark of the manifest names. False: it names none that the recording has. */
bool ada_mark_event(const struct ada_process *process, const json_object *mark, const struct ada_thread **thread, uint64_t *position);
/* Of a mark of a rule from one call to another (latency=F:N..G:M): what was equal, and the call that began. False: it is of no such rule. */
#define ADA_MARK_KEY 24
struct ada_mark_span {
	char key[ADA_MARK_KEY]; /* as text: what could be an address in hexadecimal */
	uint64_t begin_ns;
	const struct ada_thread *thread; /* NULL: the recording doesn't have it */
	uint64_t position;		 /* UINT64_MAX: nor the event */
};
bool ada_mark_span(const struct ada_process *process, const json_object *mark, struct ada_mark_span *span);
/* How many of the file's records lie before a time, or before an event of its segment (0: before neither): records lie in the order of
 * both. A record that can't be read counts as later. */
uint64_t ada_detail_before(const struct atf_detail_file *file, uint64_t ns, uint64_t index_seq);
/* As atf_thread_detail; a record that is there and can't be read becomes a problem of the session. */
int ada_thread_detail(const struct ada_thread *thread, uint64_t position, struct atf_detail *record);
/* Notes that problem alone, once a thread. Not for files that are still being written: they may look so. */
void ada_thread_detail_damaged(const struct ada_thread *thread);
/* Records in the thread's detail files with from_ns <= time < to_ns; UINT64_MAX: to the end. */
uint64_t ada_thread_details(const struct ada_thread *thread, uint64_t from_ns, uint64_t to_ns);
/* How many of the thread's events with first <= index_seq < end have a record. */
uint64_t ada_thread_details_at(const struct ada_thread *thread, uint64_t first, uint64_t end);
#endif
