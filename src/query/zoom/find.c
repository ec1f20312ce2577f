/* Where functions are called, and in what a call lies. */
#include <errno.h>
#include <stdlib.h>
#include "query/zoom/internal.h"

struct finding {
	const struct ada_zoom_thread *thread;
	const struct ada_zoom_view *view;
	const uint64_t *functions; /* sorted */
	size_t count;
	uint64_t mask[4];
	bool *columns;
	uint64_t *first;
};

static int compare_ids(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
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
			if (events[i].event_kind != ADA_EVENT_CALL || events[i].timestamp_ns < finding->view->from_ns ||
			    events[i].timestamp_ns >= finding->view->to_ns ||
			    !bsearch(&events[i].function_id, finding->functions, finding->count, sizeof *finding->functions, compare_ids))
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

static void find_in_node(const struct finding *finding, unsigned int level, size_t number)
{
	const struct ada_zoom_level *below = level ? &finding->thread->levels[level - 1] : NULL;
	const struct ada_zoom_node *node = &finding->thread->levels[level].nodes.items[number];
	uint32_t first = ada_zoom_column(finding->view, node->first_ns), last = ada_zoom_column(finding->view, node->last_ns);
	uint64_t common = 0;

	for (int i = 0; i < 4; i++)
		common |= node->functions[i] & finding->mask[i];
	if (!common || node->last_ns < finding->view->from_ns || node->first_ns >= finding->view->to_ns)
		return;
	if (first == last && finding->columns[first])
		return;
	if (!level)
		find_in_leaf(finding, number);
	for (size_t i = 0; below && i < ADA_ZOOM_FAN && number * ADA_ZOOM_FAN + i < below->nodes.count; i++)
		find_in_node(finding, level - 1, number * ADA_ZOOM_FAN + i);
}

int ada_zoom_find(bool *columns, uint64_t *first, const struct ada_zoom_thread *thread, const struct ada_zoom_view *view,
		  const uint64_t *functions, size_t count)
{
	struct finding finding = { .thread = thread, .view = view, .count = count, .columns = columns, .first = first };
	uint64_t *sorted;

	*first = UINT64_MAX;
	if (!count || view->to_ns <= view->from_ns)
		return 0;
	sorted = malloc(count * sizeof *sorted);
	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, functions, count * sizeof *sorted);
	qsort(sorted, count, sizeof *sorted, compare_ids);
	for (size_t i = 0; i < count; i++)
		finding.mask[ada_zoom_bit(sorted[i]) / 64] |= 1ull << ada_zoom_bit(sorted[i]) % 64;
	finding.functions = sorted;
	for (size_t i = 0; thread->level_count && i < thread->levels[thread->level_count - 1].nodes.count; i++)
		find_in_node(&finding, thread->level_count - 1, i);
	for (size_t i = 0; i < thread->ahead.count; i++) {
		finding.thread = thread->ahead.items[i];
		for (size_t leaf = thread->read > finding.thread->first ? ada_zoom_leaf_at(finding.thread, thread->read) : 0;
		     leaf < finding.thread->levels[0].nodes.count; leaf++)
			find_in_node(&finding, 0, leaf);
	}
	free(sorted);
	return 0;
}

/* The function's first call behind `after` (or last one before `before`) in a leaf; UINT64_MAX: none. */
static uint64_t seek_in_leaf(const struct ada_zoom_thread *thread, size_t leaf, uint64_t bound, uint64_t function_id, bool backwards)
{
	uint64_t position = ada_zoom_leaf_first(thread, leaf), count, found = UINT64_MAX;
	const struct ada_event *events;

	while ((events = leaf_events(thread, leaf, position, &count)) && count) {
		for (uint64_t i = 0; i < count; i++) {
			if (events[i].event_kind != ADA_EVENT_CALL || events[i].function_id != function_id)
				continue;
			if (!backwards && position + i > bound)
				return position + i;
			if (backwards && position + i < bound)
				found = position + i;
		}
		position += count;
	}
	return found;
}

uint64_t ada_zoom_seek(const struct ada_zoom_thread *whole, uint64_t position, uint64_t function_id, bool backwards)
{
	const struct ada_zoom_thread *thread = ada_zoom_part(whole, position);
	size_t leaf = ada_zoom_leaf_at(thread, position), count = thread->level_count ? thread->levels[0].nodes.count : 0;

	for (; leaf < count; leaf += backwards ? (size_t)-1 : 1) {
		uint64_t found;

		if (!ada_zoom_may_have(&thread->levels[0].nodes.items[leaf], function_id))
			continue;
		found = seek_in_leaf(thread, leaf, position, function_id, backwards);
		ada_zoom_leaf_release(thread, leaf, leaf + 1);
		if (found != UINT64_MAX)
			return found;
	}
	return UINT64_MAX;
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
