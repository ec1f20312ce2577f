/* Open calls, read backwards. An event at depth d says that of the calls before it none at d or deeper is open behind it; so
 * going back, a CALL is open where it lies higher than every event seen. Late ends on another stack of the thread (calls.h:
 * orphans, and what was set aside) are taken at their depth here, too. */
#include "query/stack.h"
#include <errno.h>

#define RELEASE_EVENTS (1u << 18)	/* 8 MiB */

void ada_stack_reverse(struct ada_stack *stack)
{
	struct ada_frame *items = stack->frames.items;

	for (size_t i = 0, j = stack->frames.count; i + 1 < j--; i++) {
		struct ada_frame frame = items[i];

		items[i] = items[j];
		items[j] = frame;
	}
}

int ada_stack_at(struct ada_stack *stack, const struct ada_thread *thread, uint64_t position)
{
	uint64_t kept = position;
	uint32_t limit = UINT32_MAX;

	*stack = (struct ada_stack){};
	if (position < thread->count) {
		const struct ada_event *event = atf_thread_get(thread->events, position);

		/* A call that is about to begin shows that those at its depth have left without a word. */
		if (event->event_kind == ADA_EVENT_CALL)
			limit = event->call_depth;
	}
	while (position-- && limit) {
		const struct ada_event *event = atf_thread_get(thread->events, position);

		if (kept - position > RELEASE_EVENTS) {
			atf_thread_release(thread->events, position + 1, kept);
			kept = position + 1;
		}
		if (event->event_kind < ADA_EVENT_CALL || event->event_kind > ADA_EVENT_EXCEPTION || event->call_depth >= limit)
			continue;
		limit = event->call_depth;
		if (event->event_kind == ADA_EVENT_CALL &&
		    ada_array_push(&stack->frames, (struct ada_frame){ position, event->function_id, event->timestamp_ns, limit })) {
			ada_stack_close(stack);
			return -ENOMEM;
		}
	}
	ada_stack_reverse(stack);
	return 0;
}

void ada_stack_close(struct ada_stack *stack)
{
	ada_array_free(&stack->frames);
}
