/* Open calls: see stack.h. */
#include "query/calls/stack.h"
#include <errno.h>
#include "atf/session/thread.h"
#include "query/calls/floors.h"
#include "query/session/source.h"
#include "query/session/stretch.h"
#include "query/session/windows.h"

#define BLOCK_EVENTS ADA_FLOOR_EVENTS  /* 2 MiB: mapped at a time */
#define END_EVENTS BLOCK_EVENTS	       /* of a thread's end, which say of most calls whether they are open there */
#define NEAR_EVENTS (4 * BLOCK_EVENTS) /* what lies further back has blocks read by all CPUs, and passed over */

static bool is_known(const struct ada_event *event)
{
	return event->event_kind >= ADA_EVENT_CALL && event->event_kind <= ADA_EVENT_LOST;
}

/* Whether events were lost between the event at `position` and the last known event before it. */
static bool is_after_loss(const struct ada_thread *thread, uint64_t position)
{
	while (position--) {
		const struct ada_event *event = atf_thread_get(thread->events, position);

		if (is_known(event))
			return event->event_kind == ADA_EVENT_LOST;
	}
	return false;
}

/* --- forwards ----------------------------------------------------------------------------------------------------------- */

void ada_stack_leave(struct ada_stack *stack, uint32_t depth)
{
	while (stack->frames.count && stack->frames.items[stack->frames.count - 1].depth >= depth)
		stack->frames.count--;
}

/* An end of a call on the stack or, unless events were lost, of a call that says nothing about those on the stack. */
static void frame_end(struct ada_stack *stack, const struct ada_event *event)
{
	size_t low = ada_array_below(&stack->frames, depth, event->call_depth);

	if (stack->after_loss || (low < stack->frames.count && stack->frames.items[low].depth == event->call_depth &&
				  stack->frames.items[low].function_id == event->function_id))
		stack->frames.count = low;
}

int ada_stack_feed(struct ada_stack *stack, const struct ada_event *event, uint64_t position)
{
	int result = 0;

	if (!is_known(event))
		return 0;
	if (event->event_kind == ADA_EVENT_CALL) {
		ada_stack_leave(stack, event->call_depth);
		result = ada_array_push(&stack->frames,
					((struct ada_frame){ position, event->function_id, event->timestamp_ns, event->call_depth }));
	} else if (event->event_kind != ADA_EVENT_LOST) {
		frame_end(stack, event);
	}
	stack->after_loss = event->event_kind == ADA_EVENT_LOST;
	return result;
}

static int replay(struct ada_stack *stack, const struct ada_thread *thread, uint64_t from, uint64_t to)
{
	uint64_t count, released = from;
	int result = 0;

	while (from < to && !result) {
		const struct ada_event *events = atf_thread_run(thread->events, from, &count);

		count = count > to - from ? to - from : count;
		count = count > BLOCK_EVENTS ? BLOCK_EVENTS : count;
		for (uint64_t i = 0; i < count && !result; i++)
			result = ada_stack_feed(stack, &events[i], from + i);
		from += count;
		atf_thread_release(thread->events, released, from);
		released = from;
	}
	return result;
}

int ada_stack_seed(const struct ada_stack *stack, struct ada_calls *calls)
{
	int result = 0;

	for (size_t i = 0; i < stack->frames.count && !result; i++) {
		const struct ada_frame *frame = &stack->frames.items[i];
		struct ada_event event = { .timestamp_ns = frame->start_ns,
					   .function_id = frame->function_id,
					   .event_kind = ADA_EVENT_CALL,
					   .call_depth = frame->depth };

		result = ada_calls_feed(calls, &event, frame->position);
	}
	calls->after_loss = stack->after_loss;
	calls->before_loss_ns = calls->last_ns;
	return result;
}

void ada_stack_close(struct ada_stack *stack)
{
	ada_array_free(&stack->frames);
}

bool ada_stack_line(const struct ada_stack *stack, const struct ada_thread *thread, size_t frame, struct ada_debug_line *line)
{
	struct atf_detail record;

	/* Behind the call: where that never returns another function may begin. */
	return frame + 1 < stack->frames.count && !ada_thread_detail(thread, stack->frames.items[frame + 1].position, &record) &&
	       ada_process_line(thread->process, stack->frames.items[frame].function_id, record.lr - 1, line);
}

/* --- backwards ---------------------------------------------------------------------------------------------------------- */

void ada_lookback_open(struct ada_lookback *back, const struct ada_thread *thread, uint64_t position)
{
	*back = (struct ada_lookback){
		.thread = thread, .at = position, .position = position, .limit = UINT32_MAX, .after_loss = is_after_loss(thread, position)
	};
	back->begin = thread->events ? atf_thread_begin(thread->events, position) : 0;
	if (position < thread->count) {
		const struct ada_event *event = atf_thread_get(thread->events, position);

		/* A call that is about to begin shows that those at its depth have left without a word. */
		if (event->event_kind == ADA_EVENT_CALL)
			back->limit = event->call_depth;
	}
}

void ada_lookback_close(struct ada_lookback *back)
{
	ada_array_free(&back->frames);
}

/* The end found no call: only the events before it can tell whether it ended one. */
static int look_forwards(struct ada_lookback *back)
{
	struct ada_stack stack = {};
	uint64_t from = back->position;
	int result;

	if (back->floor) {
		back->complete = back->gave_up = back->doubtful = true;
		return 0;
	}
	while (from > back->begin) {
		const struct ada_event *event = atf_thread_get(back->thread->events, from);

		if (event->event_kind == ADA_EVENT_CALL && !event->call_depth)
			break;
		if (--from % BLOCK_EVENTS == 0)
			atf_thread_release(back->thread->events, from, from + BLOCK_EVENTS);
	}
	result = replay(&stack, back->thread, from, back->at);
	if (!result && back->at < back->thread->count) {
		const struct ada_event *event = atf_thread_get(back->thread->events, back->at);

		if (event->event_kind == ADA_EVENT_CALL)
			ada_stack_leave(&stack, event->call_depth);
	}
	back->frames.count = 0;
	for (size_t i = stack.frames.count; i-- > 0 && !result;)
		result = ada_array_push(&back->frames, stack.frames.items[i]);
	back->complete = true;
	ada_stack_close(&stack);
	return result;
}

/* Takes one of the few events that are not deeper than all behind them. False: it makes an end doubtful. */
static bool event_take(struct ada_lookback *back, const struct ada_event *event, uint64_t position, int *result)
{
	if (back->waits) {
		back->waits = false;
		return event->event_kind == ADA_EVENT_CALL && event->call_depth == back->limit && event->function_id == back->function_id;
	}
	back->limit = event->call_depth;
	if (event->event_kind == ADA_EVENT_CALL) {
		*result = ada_array_push(&back->frames,
					 ((struct ada_frame){ position, event->function_id, event->timestamp_ns, event->call_depth }));
	} else {
		back->function_id = event->function_id;
		back->waits = !is_after_loss(back->thread, position); /* then the end shows what has left, whichever call ended */
	}
	return true;
}

/* Reads the events [from, back->position), which lie side by side, until there are `wanted` frames. Nearly all lie deeper. */
static int read_back(struct ada_lookback *back, const struct ada_event *events, uint64_t from, size_t wanted)
{
	uint32_t bound = back->limit + back->waits;
	int result = 0;

	while (back->position > from && bound && back->frames.count < wanted && !result) {
		const struct ada_event *event = &events[--back->position - from];

		if (event->call_depth >= bound || event->event_kind < ADA_EVENT_CALL || event->event_kind > ADA_EVENT_EXCEPTION)
			continue;
		if (!event_take(back, event, back->position, &result))
			return look_forwards(back);
		bound = back->limit + back->waits;
	}
	return result;
}

/* Far back, whole blocks lie deeper than all that is asked for. Returns where reading goes on. */
static uint64_t pass_over(struct ada_lookback *back, uint64_t floor)
{
	if (back->at - back->position >= NEAR_EVENTS)
		back->position = ada_floors_skip(back->thread, back->position, floor, back->limit + back->waits);
	return back->position;
}

static int look_back(struct ada_lookback *back, size_t wanted)
{
	uint64_t floor = back->floor > back->begin ? back->floor : back->begin;
	int result = 0;

	while (back->position > floor && back->limit + back->waits && back->frames.count < wanted && !back->complete && !result) {
		uint64_t to = pass_over(back, floor), from = to ? (to - 1) / BLOCK_EVENTS * BLOCK_EVENTS : 0;
		const struct ada_event *events;

		if (to <= floor)
			break;
		from = from > floor ? from : floor;
		events = ada_stretch_before(back->thread, to, &from);
		result = read_back(back, events, from, wanted);
		if (to - back->position > 4096) /* a row asked for alone needs no more than its pages */
			atf_thread_release(back->thread->events, back->position < to ? back->position : from, to);
	}
	if (!result && !back->complete && back->frames.count < wanted) {
		back->gave_up = back->floor && back->limit + back->waits;
		if (back->waits) /* the recording knows no call of it */
			return look_forwards(back);
		back->complete = true;
	}
	return result;
}

int ada_lookback_get(struct ada_lookback *back, size_t number, const struct ada_frame **frame)
{
	int result = number < back->frames.count || back->complete ? 0 : look_back(back, number + 1);

	*frame = !result && number < back->frames.count ? &back->frames.items[number] : NULL;
	return result;
}

/* --- packed ------------------------------------------------------------------------------------------------------------- */

/* Takes the calls that are open where the event's block begins, at the end that of the last event, and follows them from there. -EINVAL: the
 * block doesn't tell where their events are, for it isn't packed, or damaged, or the calls began before the thread's first event. */
static int follow_block(struct ada_stack *stack, const struct ada_thread *thread, uint64_t position)
{
	struct atf_packed_open_calls open;
	uint64_t from;
	int result = atf_thread_open_calls(thread->events, position < thread->count ? position : thread->count - 1, &open, &from) ?
			     -EINVAL :
			     0;

	*stack = (struct ada_stack){ .after_loss = open.after_loss };
	for (size_t i = 0; i < open.frames.count && !result; i++) {
		const struct atf_pack_frame *frame = &open.frames.items[i];
		const struct ada_frame own = { frame->position, frame->function_id, frame->start_ns, frame->depth };

		result = frame->position < from ? ada_array_push(&stack->frames, own) : -EINVAL;
	}
	ada_array_free(&open.frames);
	return result ? result : replay(stack, thread, from, position);
}

int ada_stack_packed(struct ada_stack *stack, const struct ada_thread *thread, uint64_t position)
{
	int result;

	*stack = (struct ada_stack){};
	result = thread->events && thread->count ? follow_block(stack, thread, position) : -EINVAL;
	if (!result && position < thread->count) {
		const struct ada_event *event = atf_thread_get(thread->events, position);

		if (event->event_kind == ADA_EVENT_CALL)
			ada_stack_leave(stack, event->call_depth);
	}
	if (result)
		ada_stack_close(stack);
	return result;
}

/* All that it finds. */
static int read_all(struct ada_lookback *back, struct ada_stack *stack)
{
	int result = look_back(back, SIZE_MAX);

	*stack = (struct ada_stack){ .after_loss = back->after_loss };
	for (size_t i = back->frames.count; i-- > 0 && !result;)
		result = ada_array_push(&stack->frames, back->frames.items[i]);
	if (result)
		ada_stack_close(stack);
	return result;
}

int ada_stack_at(struct ada_stack *stack, const struct ada_thread *thread, uint64_t position)
{
	struct ada_lookback back;
	int result = ada_stack_packed(stack, thread, position);

	if (result != -EINVAL)
		return result;
	ada_lookback_open(&back, thread, position);
	result = read_all(&back, stack);
	ada_lookback_close(&back);
	return result;
}

int ada_stack_at_end(struct ada_stack *stack, const struct ada_thread *thread, uint32_t *depth)
{
	int result = ada_stack_packed(stack, thread, thread->count);
	bool again = result == -EINVAL;

	*depth = 0;
	/* The first event that is read may be an end, of which the event before it is the call: then that is read, too. */
	for (uint64_t events = END_EVENTS; again; events++) {
		struct ada_lookback back;

		ada_stack_close(stack);
		ada_lookback_open(&back, thread, thread->count);
		back.floor = thread->count > events ? thread->count - events : 0;
		result = read_all(&back, stack);
		*depth = !back.gave_up ? 0 : back.doubtful ? UINT32_MAX : back.limit;
		again = !result && back.doubtful && events == END_EVENTS;
		ada_lookback_close(&back);
	}
	return result;
}

/* --- aged --------------------------------------------------------------------------------------------------------------- */

int ada_calls_resume(struct ada_calls *calls, const AtfTotalsHeader *header)
{
	const AtfTotalsCall *items;
	int result = 0;

	if (!header)
		return 0;
	items = (const AtfTotalsCall *)(header + 1);
	calls->losses = 1; /* some, before the calls that were open during one */
	calls->last_ns = header->time_end_ns;
	calls->before_loss_ns = header->before_loss_ns;
	calls->after_loss = header->flags & ATF_TOTALS_AFTER_LOSS;
	for (uint32_t i = 0; i < header->open_count + header->aside_count && !result; i++) {
		bool aside = i >= header->open_count;
		struct ada_call call = { .function_id = items[i].function_id,
					 .caller_id = !aside && i ? items[i - 1].function_id : ADA_NO_FUNCTION,
					 .start_ns = items[i].start_ns,
					 .children_ns = items[i].children_ns,
					 .waited_ns = items[i].waited_ns,
					 .losses = items[i].flags & ATF_TOTALS_ACROSS_LOSS ? 0 : calls->losses,
					 .depth = items[i].depth,
					 .aside = aside };

		result = aside ? ada_array_push(&calls->aside, call) : ada_array_push(&calls->stack, call);
	}
	return result;
}
