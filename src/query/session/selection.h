/* Which events a question is about: some threads, some time. And how complete the answer can be. */
#ifndef ADA_QUERY_SELECTION_H
#define ADA_QUERY_SELECTION_H
#include "base/progress.h"
#include "query/session/session.h"

struct ada_selection {
	const struct ada_session *session;
	ADA_ARRAY(struct ada_thread *) threads; /* also those without events */
	uint64_t from_ns, to_ns;		/* from <= time < to */
	struct ada_progress *progress;		/* of events read, NULL: none; whoever reads them says how many there are */
};

/* Each text as on the command line, NULL: all. `thread`: number, OS thread id or name. */
int ada_selection_open(struct ada_selection *selection, const struct ada_session *session, const char *thread, const char *from,
		       const char *to, struct ada_error *error);
/* Narrows it to window `number` of the session: the window's process between the window's bounds. */
int ada_selection_narrow(struct ada_selection *selection, uint64_t number, struct ada_error *error);
bool ada_selection_has(const struct ada_selection *selection, const struct ada_thread *thread); /* of its session */
void ada_selection_close(struct ada_selection *selection);
/* The thread's events in the selection's time: [*first, *end). None where the thread has no files. */
void ada_selection_range(const struct ada_selection *selection, const struct ada_thread *thread, uint64_t *first, uint64_t *end);

struct ada_completeness {
	uint64_t events;	/* records looked at, those that mark a loss included */
	uint64_t lost;		/* missing events of these threads and this time */
	uint64_t overwritten;	/* of those, what newer events replaced in a circular buffer, as asked */
	uint64_t aged;		/* calls and ends whose segments have gone: only sums by function know of them */
	uint64_t detail_lost;	/* records of windows that could not be written, of whole processes */
	double detail_coverage; /* share of the events that have detail */
	uint64_t muted;		/* functions whose hooks were out for some of this time */
	uint64_t filtered;	/* of these: of mutexes, whose uncontended calls alone were left out */
	double muted_share;	/* of all calls, those that they made meanwhile: an estimate, by their rates before */
	bool complete;		/* nothing lost or aged, of detail either, nothing unreadable, each process recorded, and to its end */
};

/* What is missing though nobody asked for that. */
static inline uint64_t ada_completeness_lost(const struct ada_completeness *completeness)
{
	return completeness->lost - completeness->overwritten;
}

/* `events` were looked at; `all`: these are all of the selection's. `lost`: what the LOST records among them stand for, by thread of the
 * selection. The manifest may know of more. */
struct ada_completeness ada_selection_completeness(const struct ada_selection *selection, bool all, uint64_t events, const uint64_t *lost);
/* Share of the selection's events with first <= index_seq < end that have detail. */
double ada_selection_coverage(const struct ada_selection *selection, uint64_t first, uint64_t end);
/* Completeness of the whole session, without reading every event where the manifests say what was lost. */
struct ada_completeness ada_session_completeness(const struct ada_session *session);
/* Whether all that the thread's segments added up to before they went lies in the selection: such sums can't be divided. */
bool ada_selection_has_aged(const struct ada_selection *selection, const struct ada_thread *thread);
/* Events that a thread lost: what its LOST records stand for, or more where the manifest knows more. */
uint64_t ada_thread_lost(const struct ada_thread *thread);
/* Records kept of a process's detail. A finalized manifest says it, and no file has to be opened. */
uint64_t ada_process_details(const struct ada_process *process);
#endif
