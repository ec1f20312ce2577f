/* The nearest call of some functions, however far it is: leaves whose bits say that they have none are passed over, the others are read.
 *
 * A function may have its bit from others, so that of a rare one nearly each leaf is read: hence a seek goes on from where it stood, and says
 * where that is. What the reading hasn't come to has no bits yet, and is read as well.
 */
#include "query/zoom/internal.h"

#define RELEASED 32u /* leaves at once: 2 MiB */

/* The events around one that are looked at together, and whose functions a node knows; NULL: none does yet. */
static const struct ada_zoom_node *piece_at(const struct ada_zoom_thread *whole, uint64_t position, uint64_t *from, uint64_t *to)
{
	const struct ada_zoom_thread *thread = ada_zoom_part(whole, position);
	uint64_t end = position < thread->read ? thread->read : whole->thread->count;

	*from = position - position % ADA_ZOOM_LEAF;
	*to = *from + ADA_ZOOM_LEAF < end ? *from + ADA_ZOOM_LEAF : end;
	return position < thread->read ? &thread->levels[0].nodes.items[ada_zoom_leaf_at(thread, position)] : NULL;
}

/* The first event that may be one, or backwards the last. */
static uint64_t candidate(const struct ada_zoom_seek *seek)
{
	return seek->next - seek->backwards;
}

/* Passes over what has none. */
static void seek_pass(struct ada_zoom_seek *seek)
{
	const struct ada_thread *thread = seek->thread->thread;
	uint64_t from, to;

	for (; seek->backwards ? seek->next > 0 : seek->next < thread->count; seek->next = seek->backwards ? from : to) {
		const struct ada_zoom_node *node = piece_at(seek->thread, candidate(seek), &from, &to);

		if (node && !ada_zoom_may_have(node, seek->functions))
			continue;
		if (node)
			seek->next_ns = seek->backwards ? node->last_ns : node->first_ns;
		else
			seek->next_ns = atf_thread_get(thread->events, candidate(seek))->timestamp_ns;
		return;
	}
	seek->done = true;
}

void ada_zoom_seek_open(struct ada_zoom_seek *seek, const struct ada_zoom_thread *thread, const struct ada_zoom_functions *functions,
			uint64_t position, bool backwards)
{
	*seek = (struct ada_zoom_seek){
		.thread = thread, .functions = functions, .backwards = backwards, .next = position, .found = UINT64_MAX
	};
	if (thread->thread->events && functions->count)
		seek_pass(seek);
	else
		seek->done = true;
}

/* The first call among these events, or backwards the last. */
static uint64_t find_among(const struct ada_zoom_seek *seek, uint64_t from, uint64_t to)
{
	uint64_t found = UINT64_MAX, count;
	const struct ada_event *events;

	while (from < to && (events = atf_thread_run(seek->thread->thread->events, from, &count)) && count) {
		for (uint64_t i = 0; i < count && from + i < to; i++) {
			if (!ada_zoom_is_wanted(seek->functions, &events[i]))
				continue;
			found = from + i;
			if (!seek->backwards)
				return found;
		}
		from += count;
	}
	return found;
}

/* What was read of a long thread leaves this process's memory. */
static void seek_release(const struct ada_zoom_seek *seek, uint64_t from, uint64_t to)
{
	atf_thread_release(seek->thread->thread->events, seek->backwards ? to : from, seek->backwards ? from : to);
}

void ada_zoom_seek_run(struct ada_zoom_seek *seek, uint64_t limit_ns, uint64_t until_ns)
{
	uint64_t begun = seek->next, from, to;
	bool ends = seek->done;

	while (!ends) {
		piece_at(seek->thread, candidate(seek), &from, &to);
		from = seek->backwards || from > seek->next ? from : seek->next;
		to = seek->backwards && to > seek->next ? seek->next : to;
		seek->found = find_among(seek, from, to);
		seek->next = seek->backwards ? from : to;
		seek_pass(seek);
		ends = seek->done || seek->found != UINT64_MAX || ada_zoom_is_late(until_ns) ||
		       (seek->backwards ? seek->next_ns < limit_ns : seek->next_ns > limit_ns);
		if (!ends && (seek->backwards ? begun - from : to - begun) < (uint64_t)RELEASED * ADA_ZOOM_LEAF)
			continue;
		seek_release(seek, begun, seek->backwards ? from : to);
		begun = seek->next;
	}
}
