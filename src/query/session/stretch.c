/* See stretch.h. */
#include "query/session/stretch.h"

#define RUNS_MAX 3 /* passed to reach the last one: where memory is short each has one event, which says LOST */

bool ada_stretch_next(struct ada_stretch *stretch)
{
	if (stretch->count)
		atf_thread_release(stretch->thread->events, stretch->position, stretch->next);
	stretch->count = 0;
	if (stretch->next >= stretch->to)
		return false;
	stretch->events = atf_thread_run(stretch->thread->events, stretch->next, &stretch->count);
	if (stretch->count > stretch->to - stretch->next)
		stretch->count = stretch->to - stretch->next;
	if (stretch->count > ADA_STRETCH_EVENTS)
		stretch->count = ADA_STRETCH_EVENTS;
	stretch->position = stretch->next;
	stretch->next += stretch->count;
	return stretch->count > 0;
}

const struct ada_event *ada_stretch_before(const struct ada_thread *thread, uint64_t to, uint64_t *from)
{
	uint64_t count, runs = 0;
	const struct ada_event *events = atf_thread_run(thread->events, *from, &count);

	while (*from + count < to) { /* a segment ends between */
		*from = ++runs < RUNS_MAX ? *from + count : to - 1;
		events = atf_thread_run(thread->events, *from, &count);
	}
	return events;
}
