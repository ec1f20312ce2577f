#include "cli/tui/walk.h"
#include <errno.h>
#include <stddef.h>
#include "base/interrupt.h"

#define LOOK_EVENTS (1u << 20) /* between two questions whether to go on */

static bool is_row(const struct ada_event *event)
{
	return event->event_kind == ADA_EVENT_CALL || event->event_kind == ADA_EVENT_LOST;
}

/* The outermost fold that hides the position; NULL: it is seen. */
static const struct ada_fold *hiding(const struct ada_walk *walk, uint64_t position)
{
	for (size_t i = 0; i < walk->folds.count && walk->folds.items[i].begin < position; i++)
		if (position < walk->folds.items[i].end)
			return &walk->folds.items[i];
	return NULL;
}

bool ada_walk_at_or_behind(const struct ada_walk *walk, uint64_t *position)
{
	const struct ada_fold *fold;
	uint64_t at = *position, count;

	while (walk->thread->events) {
		const struct ada_event *events;

		while ((fold = hiding(walk, at)))
			at = fold->end;
		events = atf_thread_run(walk->thread->events, at, &count);
		if (!events)
			break;
		for (uint64_t i = 0; i < count && !hiding(walk, at); i++, at++)
			if (is_row(&events[i])) {
				*position = at;
				return true;
			}
	}
	return false;
}

bool ada_walk_before(const struct ada_walk *walk, uint64_t *position)
{
	uint64_t at = *position < walk->thread->count ? *position : walk->thread->count;

	while (walk->thread->events && at) {
		const struct ada_fold *fold = hiding(walk, --at);
		const struct ada_event *event;

		if (fold)
			at = fold->begin;
		event = atf_thread_get(walk->thread->events, at);
		if (event && is_row(event)) {
			*position = at;
			return true;
		}
	}
	return false;
}

/* --- ends ----------------------------------------------------------------------------------------------------------------- */

/* What an event says of a call of this function and depth. */
static bool settles(const struct ada_event *event, const struct ada_event *call, enum ada_walk_end *found)
{
	bool ends = event->event_kind == ADA_EVENT_RETURN || event->event_kind == ADA_EVENT_EXCEPTION;

	if ((!ends && event->event_kind != ADA_EVENT_CALL) || event->call_depth > call->call_depth)
		return false;
	*found = ends && event->call_depth == call->call_depth && event->function_id == call->function_id ? ADA_WALK_ENDS :
													    ADA_WALK_UNKNOWN;
	return true;
}

enum ada_walk_end ada_walk_duration(const struct ada_thread *thread, uint64_t position, uint64_t limit, uint64_t *end,
				    uint64_t *duration_ns)
{
	const struct ada_event call = *atf_thread_get(thread->events, position), *events;
	enum ada_walk_end found = ADA_WALK_GOES_ON;
	uint64_t count, waited_ns = 0, last_ns = call.timestamp_ns;
	bool settled = false;

	for (*end = position + 1; !settled && (events = atf_thread_run(thread->events, *end, &count));)
		for (uint64_t i = 0; i < count; i++, ++*end) {
			last_ns = events[i].timestamp_ns;
			settled = *end - position > limit || settles(&events[i], &call, &found);
			if (settled)
				break;
			waited_ns += events[i].event_kind == ADA_EVENT_RECORDER ? events[i].function_id : 0;
		}
	if (!settled)
		last_ns = ada_process_end_ns(thread->process);
	*duration_ns = last_ns - call.timestamp_ns > waited_ns ? last_ns - call.timestamp_ns - waited_ns : 0;
	return settled && found == ADA_WALK_GOES_ON ? ADA_WALK_FARTHER : found;
}

/* --- folds ---------------------------------------------------------------------------------------------------------------- */

static size_t place_of(const struct ada_walk *walk, uint64_t begin)
{
	return ada_array_below(&walk->folds, begin, begin);
}

bool ada_walk_is_folded(const struct ada_walk *walk, uint64_t position)
{
	size_t place = place_of(walk, position);

	return place < walk->folds.count && walk->folds.items[place].begin == position;
}

static void take_out(struct ada_walk *walk, size_t place)
{
	memmove(&walk->folds.items[place], &walk->folds.items[place + 1], (--walk->folds.count - place) * sizeof *walk->folds.items);
}

int ada_walk_fold(struct ada_walk *walk, uint64_t position)
{
	const struct ada_event *event = atf_thread_get(walk->thread->events, position);
	size_t place = place_of(walk, position);
	uint64_t end, duration_ns, limit = LOOK_EVENTS;

	if (ada_walk_is_folded(walk, position)) {
		take_out(walk, place);
		return 0;
	}
	if (!event || event->event_kind != ADA_EVENT_CALL)
		return 0;
	while (ada_walk_duration(walk->thread, position, limit, &end, &duration_ns) == ADA_WALK_FARTHER) {
		if (ada_interrupted())
			return -EINTR;
		limit *= 8;
	}
	if (ada_array_push(&walk->folds, (struct ada_fold){}))
		return -ENOMEM;
	memmove(&walk->folds.items[place + 1], &walk->folds.items[place], (walk->folds.count - 1 - place) * sizeof *walk->folds.items);
	walk->folds.items[place] = (struct ada_fold){ position, end };
	return 0;
}

void ada_walk_reveal(struct ada_walk *walk, uint64_t position)
{
	const struct ada_fold *fold;

	while ((fold = hiding(walk, position)))
		take_out(walk, (size_t)(fold - walk->folds.items));
}

void ada_walk_close(struct ada_walk *walk)
{
	ada_array_free(&walk->folds);
}
