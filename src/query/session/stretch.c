/* See stretch.h. */
#include "query/session/stretch.h"

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
