/* See stretch.h. */
#include "query/stretch.h"

#define MARGIN_EVENTS (1u << 11)	/* what the kernel maps before a page that is touched: 64 KiB */

bool ada_stretch_next(struct ada_stretch *stretch)
{
	uint64_t before = stretch->position > MARGIN_EVENTS ? stretch->position - MARGIN_EVENTS : 0;

	if (stretch->count)
		atf_thread_release(stretch->thread->events, before, stretch->next);
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
