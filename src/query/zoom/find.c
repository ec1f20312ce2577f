/* Where functions are called, and in what a call lies. */
#include <errno.h>
#include <stdlib.h>
#include "query/zoom/internal.h"

struct finding {
	const struct ada_zoom_thread *thread;
	const struct ada_zoom_view *view;
	const struct ada_zoom_functions *functions;
	bool *columns;
	uint64_t *first;
	uint64_t since, until_ns;
	bool late;
	uint64_t stopped; /* at the first leaf that wasn't read for lack of time; UINT64_MAX: there was enough */
};

static int compare_ids(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

void ada_zoom_functions_make(struct ada_zoom_functions *functions, uint64_t *ids, size_t count)
{
	*functions = (struct ada_zoom_functions){ .ids = ids, .count = count };
	if (count)
		qsort(ids, count, sizeof *ids, compare_ids);
	for (size_t i = 0; i < count; i++)
		functions->mask[ada_zoom_bit(ids[i]) / 64] |= 1ull << ada_zoom_bit(ids[i]) % 64;
}

bool ada_zoom_is_wanted(const struct ada_zoom_functions *functions, const struct ada_event *event)
{
	unsigned int bit = ada_zoom_bit(event->function_id);

	return event->event_kind == ADA_EVENT_CALL && functions->mask[bit / 64] >> bit % 64 & 1 &&
	       bsearch(&event->function_id, functions->ids, functions->count, sizeof *functions->ids, compare_ids);
}

/* The events of a leaf from `position` on; *count up to its end, or their packed block's. */
static const struct ada_event *leaf_events(const struct ada_zoom_thread *thread, size_t leaf, uint64_t position, uint64_t *count)
{
	uint64_t end = ada_zoom_leaf_first(thread, leaf + 1);
	const struct ada_event *events = NULL;

	*count = 0;
	if (end > thread->read)
		end = thread->read;
	if (position < end)
		events = atf_thread_run(thread->thread->events, position, count);
	if (*count > end - position)
		*count = end - position;
	return events;
}

static void find_in_leaf(const struct finding *finding, size_t leaf)
{
	uint64_t position = ada_zoom_leaf_first(finding->thread, leaf), count;
	const struct ada_event *events;

	while ((events = leaf_events(finding->thread, leaf, position, &count)) && count) {
		for (uint64_t i = 0; i < count; i++) {
			if (events[i].timestamp_ns < finding->view->from_ns || events[i].timestamp_ns >= finding->view->to_ns ||
			    !ada_zoom_is_wanted(finding->functions, &events[i]))
				continue;
			finding->columns[ada_zoom_column(finding->view, events[i].timestamp_ns)] = true;
			/* Leaves come in order, and none before the first hit is passed over. */
			if (*finding->first == UINT64_MAX)
				*finding->first = position + i;
		}
		position += count;
	}
	ada_zoom_leaf_release(finding->thread, leaf, leaf + 1);
}

static void find_in_node(struct finding *finding, unsigned int level, size_t number)
{
	const struct ada_zoom_level *below = level ? &finding->thread->levels[level - 1] : NULL;
	const struct ada_zoom_node *node = &finding->thread->levels[level].nodes.items[number];
	uint32_t first = ada_zoom_column(finding->view, node->first_ns), last = ada_zoom_column(finding->view, node->last_ns);
	size_t leaf = number << level * ADA_ZOOM_FAN_BITS, end = (number + 1) << level * ADA_ZOOM_FAN_BITS; /* of those below */

	if (finding->stopped != UINT64_MAX || ada_zoom_leaf_first(finding->thread, end) <= finding->since ||
	    node->last_ns < finding->view->from_ns || node->first_ns >= finding->view->to_ns ||
	    !ada_zoom_may_have(node, finding->functions) || (first == last && finding->columns[first]))
		return;
	if (!level && finding->late) {
		finding->stopped = ada_zoom_leaf_first(finding->thread, leaf);
	} else if (!level) {
		find_in_leaf(finding, leaf);
		finding->late = ada_zoom_is_late(finding->until_ns);
	}
	for (size_t i = 0; below && i < ADA_ZOOM_FAN && number * ADA_ZOOM_FAN + i < below->nodes.count; i++)
		find_in_node(finding, level - 1, number * ADA_ZOOM_FAN + i);
}

uint64_t ada_zoom_find(bool *columns, uint64_t *first, const struct ada_zoom_thread *thread, const struct ada_zoom_view *view,
		       const struct ada_zoom_functions *functions, uint64_t since, uint64_t until_ns)
{
	struct finding finding = { .thread = thread,
				   .view = view,
				   .functions = functions,
				   .columns = columns,
				   .first = first,
				   .since = since,
				   .until_ns = until_ns,
				   .stopped = UINT64_MAX };

	*first = UINT64_MAX;
	if (!functions->count || view->to_ns <= view->from_ns)
		return UINT64_MAX;
	for (size_t i = 0; thread->level_count && i < thread->levels[thread->level_count - 1].nodes.count; i++)
		find_in_node(&finding, thread->level_count - 1, i);
	for (size_t i = 0; i < thread->ahead.count; i++) {
		finding.thread = thread->ahead.items[i];
		for (size_t leaf = thread->read > finding.thread->first ? ada_zoom_leaf_at(finding.thread, thread->read) : 0;
		     leaf < finding.thread->levels[0].nodes.count; leaf++)
			find_in_node(&finding, 0, leaf);
	}
	return finding.stopped;
}

/* --- paths -------------------------------------------------------------------------------------------------------------- */

struct following {
	ada_zoom_path *path;
	uint64_t position;
	bool found;
	int status;
};

static void follow_begun(void *context, const struct ada_calls *calls, const struct ada_call *call)
{
	struct following *following = context;

	if (following->found || call->position != following->position)
		return;
	following->found = true;
	for (size_t i = 0; i < calls->stack.count && !following->status; i++)
		following->status = ada_array_push(following->path,
						   (struct ada_zoom_open){ .start_ns = calls->stack.items[i].start_ns,
									   .end_ns = UINT64_MAX,
									   .position = calls->stack.items[i].position,
									   .function_id = calls->stack.items[i].function_id,
									   .depth = calls->stack.items[i].depth,
									   .caller = ADA_ZOOM_NONE });
}

static void follow_ended(void *context, const struct ada_call *call)
{
	struct following *following = context;
	size_t number = ada_array_below(following->path, position, call->position);

	if (number < following->path->count && following->path->items[number].position == call->position)
		following->path->items[number].end_ns = call->end_ns;
}

int ada_zoom_path_at(ada_zoom_path *path, const struct ada_zoom_thread *whole, uint64_t position)
{
	const struct ada_zoom_thread *thread = ada_zoom_part(whole, position);
	size_t leaf = ada_zoom_leaf_at(thread, position);
	struct following following = { .path = path, .position = position };
	struct ada_zoom_reader reader = { .context = &following, .begun = follow_begun, .ended = follow_ended };
	int status;

	path->count = 0;
	if (!thread->level_count || leaf >= thread->levels[0].nodes.count)
		return -ENOENT;
	status = ada_zoom_leaf_read(thread, leaf, &reader);
	ada_zoom_leaf_release(thread, leaf, leaf + 1);
	if (status || following.status)
		return -ENOMEM;
	return following.found ? 0 : -ENOENT;
}
