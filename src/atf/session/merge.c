/* K-way merge of threads by time: a cursor a thread, and a binary heap of them, the one with the earliest event on top.
 *
 * After an event the top cursor moves on and sinks to its place. A thread that stays the earliest costs two comparisons
 * an event, however many threads there are.
 *
 * Behind the cursors, pages are released: a merge of any size keeps some 32 MiB mapped.
 */
#include "abi/page.h"
#include "atf/index/index.h"

#include <stdlib.h>

#define MAPPED_EVENTS (1u << 20) /* of all threads together */
#define MAPPED_MIN (1u << 11)	 /* of each: what the kernel maps at a time */
#define PAGE_EVENTS (ADA_PAGE_BYTES / sizeof(struct ada_event))

struct cursor {
	const struct ada_event *event; /* at `position` */
	uint64_t position, end;	       /* in the thread */
	uint64_t run_end;	       /* events lie contiguous up to here */
	uint64_t release_at;	       /* position */
};

struct entry {
	uint64_t timestamp_ns; /* of the cursor's event */
	struct cursor *cursor;
};

struct atf_merge {
	struct atf_thread *const *threads;
	struct cursor *cursors; /* in the order of `threads` */
	size_t count;		/* of entries in the heap */
	uint64_t stretch;	/* events of a thread that are released at a time */
	struct entry heap[];
};

static bool entry_before(const struct entry *a, const struct entry *b)
{
	return a->timestamp_ns != b->timestamp_ns ? a->timestamp_ns < b->timestamp_ns : a->cursor < b->cursor;
}

static void heap_sink(struct atf_merge *merge, size_t hole)
{
	struct entry entry = merge->heap[hole];

	for (;;) {
		size_t child = 2 * hole + 1;

		if (child >= merge->count)
			break;
		if (child + 1 < merge->count && entry_before(&merge->heap[child + 1], &merge->heap[child]))
			child++;
		if (!entry_before(&merge->heap[child], &entry))
			break;
		merge->heap[hole] = merge->heap[child];
		hole = child;
	}
	merge->heap[hole] = entry;
}

/* Looks up the events that lie side by side from `position` on. Of packed blocks the one just left stays: its last event may be in use. */
static void cursor_find(const struct atf_merge *merge, struct cursor *cursor)
{
	const struct atf_thread *thread = merge->threads[cursor - merge->cursors];

	atf_thread_release(thread, 0, cursor->position);
	cursor->event = atf_thread_run(thread, cursor->position, &cursor->run_end);
	cursor->run_end += cursor->position;
}

/* The page that the last release ended in was not whole then. */
static void cursor_release(const struct atf_merge *merge, struct cursor *cursor)
{
	uint64_t from = cursor->release_at - merge->stretch;

	atf_thread_release(merge->threads[cursor - merge->cursors], from > PAGE_EVENTS ? from - PAGE_EVENTS : 0, cursor->position);
	cursor->release_at = cursor->position + merge->stretch;
}

int atf_merge_open(struct atf_merge **merge_out, struct atf_thread *const *threads, size_t count, uint64_t from_ns, uint64_t to_ns)
{
	struct atf_merge *merge = calloc(1, sizeof *merge + count * sizeof *merge->heap);
	struct cursor *cursors = calloc(count + 1, sizeof *cursors);
	size_t i;

	*merge_out = NULL;
	if (!merge || !cursors) {
		free(cursors);
		free(merge);
		return -ATF_ERROR_MEMORY;
	}
	merge->threads = threads;
	merge->cursors = cursors;
	merge->stretch = count && MAPPED_EVENTS / count > MAPPED_MIN ? MAPPED_EVENTS / count : MAPPED_MIN;
	for (i = 0; i < count; i++) {
		struct cursor *cursor = &cursors[i];

		cursor->position = atf_thread_lower_bound(threads[i], from_ns);
		cursor->end = atf_thread_count(threads[i]);
		if (to_ns != UINT64_MAX)
			cursor->end = atf_thread_lower_bound(threads[i], to_ns);
		/* The search for the times has left pages. */
		atf_thread_release(threads[i], 0, atf_thread_count(threads[i]));
		cursor->release_at = cursor->position + merge->stretch;
		if (cursor->position >= cursor->end)
			continue;
		cursor_find(merge, cursor);
		merge->heap[merge->count++] = (struct entry){ cursor->event->timestamp_ns, cursor };
	}
	for (i = merge->count / 2; i--;)
		heap_sink(merge, i);
	*merge_out = merge;
	return 0;
}

bool atf_merge_next(struct atf_merge *merge, size_t *thread, uint64_t *position, const struct ada_event **event)
{
	struct cursor *top;

	if (!merge->count)
		return false;
	top = merge->heap[0].cursor;
	*thread = (size_t)(top - merge->cursors);
	*position = top->position;
	*event = top->event;
	if (++top->position >= top->release_at)
		cursor_release(merge, top);
	if (top->position == top->end) {
		merge->heap[0] = merge->heap[--merge->count];
		if (!merge->count)
			return true;
	} else {
		if (top->position < top->run_end)
			top->event++;
		else
			cursor_find(merge, top);
		merge->heap[0].timestamp_ns = top->event->timestamp_ns;
	}
	heap_sink(merge, 0);
	return true;
}

void atf_merge_close(struct atf_merge *merge)
{
	if (merge)
		free(merge->cursors);
	free(merge);
}
