/* K-way merge of threads by time: a binary heap of cursors, one a thread, smallest event on top.
 *
 * After an event the top cursor moves on and sinks to its place. A thread that stays the earliest costs two comparisons
 * an event, however many threads there are.
 */
#include "atf/internal.h"

#include <stdlib.h>

struct cursor {
	uint64_t timestamp_ns;			/* of the event at `position` */
	const struct ada_event *event;
	uint64_t position, end;			/* in the thread */
	uint64_t segment_end;			/* events lie contiguous up to here */
	size_t thread;
	uint32_t segment;
};

struct atf_merge {
	struct atf_thread *const *threads;
	size_t count;				/* of cursors in the heap */
	struct cursor heap[];
};

static bool cursor_before(const struct cursor *a, const struct cursor *b)
{
	return a->timestamp_ns != b->timestamp_ns ? a->timestamp_ns < b->timestamp_ns : a->thread < b->thread;
}

static void heap_sink(struct atf_merge *merge, size_t hole)
{
	struct cursor cursor = merge->heap[hole];

	for (;;) {
		size_t child = 2 * hole + 1;

		if (child >= merge->count)
			break;
		if (child + 1 < merge->count && cursor_before(&merge->heap[child + 1], &merge->heap[child]))
			child++;
		if (!cursor_before(&merge->heap[child], &cursor))
			break;
		merge->heap[hole] = merge->heap[child];
		hole = child;
	}
	merge->heap[hole] = cursor;
}

/* Looks up the segment that `position` lies in. */
static void cursor_find(struct atf_merge *merge, struct cursor *cursor)
{
	const struct atf_thread *thread = merge->threads[cursor->thread];

	while (cursor->segment_end <= cursor->position) {
		cursor->segment_end += atf_index_count(atf_thread_segment(thread, cursor->segment));
		cursor->segment++;
	}
	cursor->event = atf_thread_get(thread, cursor->position);
	cursor->timestamp_ns = cursor->event->timestamp_ns;
}

int atf_merge_open(struct atf_merge **merge_out, struct atf_thread *const *threads, size_t count, uint64_t from_ns,
		   uint64_t to_ns)
{
	struct atf_merge *merge = calloc(1, sizeof *merge + count * sizeof *merge->heap);
	size_t i;

	*merge_out = NULL;
	if (!merge)
		return -ATF_ERROR_MEMORY;
	merge->threads = threads;
	for (i = 0; i < count; i++) {
		struct cursor cursor = {
			.thread = i,
			.position = atf_thread_lower_bound(threads[i], from_ns),
			.end = atf_thread_count(threads[i]),
		};

		if (to_ns != UINT64_MAX)
			cursor.end = atf_thread_lower_bound(threads[i], to_ns);
		if (cursor.position >= cursor.end)
			continue;
		cursor_find(merge, &cursor);
		merge->heap[merge->count++] = cursor;
	}
	for (i = merge->count / 2; i--; )
		heap_sink(merge, i);
	*merge_out = merge;
	return 0;
}

bool atf_merge_next(struct atf_merge *merge, size_t *thread, uint64_t *position, const struct ada_event **event)
{
	struct cursor *top = merge->heap;

	if (!merge->count)
		return false;
	*thread = top->thread;
	*position = top->position;
	*event = top->event;
	if (++top->position == top->end)
		*top = merge->heap[--merge->count];
	else if (top->position < top->segment_end)
		top->timestamp_ns = (++top->event)->timestamp_ns;
	else
		cursor_find(merge, top);
	if (merge->count)
		heap_sink(merge, 0);
	return true;
}

void atf_merge_close(struct atf_merge *merge)
{
	free(merge);
}
