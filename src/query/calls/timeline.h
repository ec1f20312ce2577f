/* The events of a selection, of all its threads and processes, in the order of time. Memory: a stack of open calls a
 * thread, and the calls that are open at its end, where durations are asked for, else nothing that grows. */
#ifndef ADA_QUERY_TIMELINE_H
#define ADA_QUERY_TIMELINE_H
#include "query/session/selection.h"

struct ada_timeline;
struct ada_moment {
	const struct ada_thread *thread;
	const struct ada_event *event;
	uint64_t position;   /* in its thread: index_seq */
	bool duration_known; /* of the call that this event ends, if durations were asked for */
	bool open; /* the call that this event begins never returned, and no event of its thread was lost; if durations were asked for */
	uint64_t duration_ns; /* of an open call: up to the process's end, or until now */
};

int ada_timeline_open(struct ada_timeline **timeline, const struct ada_selection *selection, bool durations, struct ada_error *error);
/* Leaves only events with first <= index_seq < end of each thread: nothing else in the selection counts. Call it before the first event
 * is read. */
void ada_timeline_narrow(struct ada_timeline *timeline, uint64_t first, uint64_t end);
/* False at the end, and soon after ada_interrupted(). */
bool ada_timeline_next(struct ada_timeline *timeline, struct ada_moment *moment);
/* Of what was read so far. */
struct ada_completeness ada_timeline_completeness(const struct ada_timeline *timeline);
void ada_timeline_close(struct ada_timeline *timeline);
#endif
