/* Open calls, read backwards. An event at depth d says that of the calls before it none at d or deeper is open behind it; so
 * going back, a CALL is open where it lies higher than every event seen. Late ends on another stack of the thread (calls.h:
 * orphans, and what was set aside) are taken at their depth here, too. */
#include "query/stack.h"
#include <errno.h>

#define BLOCK_EVENTS (1u << 16)		/* 2 MiB: mapped at a time */

void ada_stack_reverse(struct ada_stack *stack)
{
	struct ada_frame *items = stack->frames.items;

	for (size_t i = 0, j = stack->frames.count; i + 1 < j--; i++) {
		struct ada_frame frame = items[i];

		items[i] = items[j];
		items[j] = frame;
	}
}

/* Of events [from, to), which lie side by side. Nearly all of them lie deeper. */
static int read_back(struct ada_stack *stack, const struct ada_event *events, uint64_t from, uint64_t to, uint32_t *limit)
{
	for (uint64_t i = to - from; i-- > 0 && *limit;) {
		const struct ada_event *event = &events[i];

		if (event->call_depth >= *limit || event->event_kind < ADA_EVENT_CALL || event->event_kind > ADA_EVENT_EXCEPTION)
			continue;
		*limit = event->call_depth;
		if (event->event_kind == ADA_EVENT_CALL && ada_array_push(&stack->frames,
				((struct ada_frame){ from + i, event->function_id, event->timestamp_ns, *limit })))
			return -ENOMEM;
	}
	return 0;
}

int ada_stack_at(struct ada_stack *stack, const struct ada_thread *thread, uint64_t position)
{
	uint32_t limit = UINT32_MAX;
	int result = 0;

	*stack = (struct ada_stack){};
	if (position < thread->count) {
		const struct ada_event *event = atf_thread_get(thread->events, position);

		/* A call that is about to begin shows that those at its depth have left without a word. */
		if (event->event_kind == ADA_EVENT_CALL)
			limit = event->call_depth;
	}
	while (position && limit && !result) {
		uint64_t from = position > BLOCK_EVENTS ? position - BLOCK_EVENTS : 0, count;
		const struct ada_event *events = atf_thread_run(thread->events, from, &count);

		while (from + count < position) {	/* a segment ends between */
			from += count;
			events = atf_thread_run(thread->events, from, &count);
		}
		result = read_back(stack, events, from, position, &limit);
		atf_thread_release(thread->events, from, position);
		position = from;
	}
	if (result)
		ada_stack_close(stack);
	ada_stack_reverse(stack);
	return result;
}

void ada_stack_close(struct ada_stack *stack)
{
	ada_array_free(&stack->frames);
}
