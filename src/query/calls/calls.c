/* Pairing calls with their ends: see calls.h for the rules. */
#include "query/calls/calls.h"
#include <string.h>

#define ASIDE_MAX 16384

void ada_calls_open(struct ada_calls *calls, const struct ada_calls_receiver *receiver)
{
	*calls = (struct ada_calls){ .receiver = *receiver };
}

static void report(struct ada_calls *calls, struct ada_call *call, enum ada_outcome outcome)
{
	call->outcome = outcome;
	call->across_loss = call->losses != calls->losses;
	if (calls->receiver.ended)
		calls->receiver.ended(calls->receiver.context, call);
}

static void forget_oldest(struct ada_calls *calls, size_t count)
{
	struct ada_call *items = calls->aside.items;

	for (size_t i = 0; i < count; i++)
		report(calls, &items[i], ADA_OUTCOME_UNKNOWN);
	calls->aside.count -= count;
	if (calls->aside.count)
		memmove(items, items + count, calls->aside.count * sizeof *items);
}

/* Takes the top call off the stack and sets it aside, or drops it where events were lost. */
static int remove_top(struct ada_calls *calls)
{
	struct ada_call *top = &calls->stack.items[--calls->stack.count];

	top->aside = true;
	if (calls->receiver.set_aside)
		calls->receiver.set_aside(calls->receiver.context, top);
	if (calls->after_loss) {
		if (calls->stack.count)
			top[-1].children_ns += ada_call_duration_to(top, calls->before_loss_ns);
		report(calls, top, ADA_OUTCOME_UNKNOWN);
		return 0;
	}
	if (calls->aside.count == ASIDE_MAX) /* half of them at once: moving the rest is then no cost a call */
		forget_oldest(calls, ASIDE_MAX / 2);
	return ada_array_push(&calls->aside, *top);
}

/* No one knows who ran in the gap: its time counts like a call below the innermost call that is still open. */
static void take_gap(struct ada_calls *calls, const struct ada_event *event)
{
	if (calls->after_loss && calls->stack.count)
		calls->stack.items[calls->stack.count - 1].children_ns += event->timestamp_ns - calls->before_loss_ns;
}

/* Open calls as deep as the event have left. */
static int remove_deeper(struct ada_calls *calls, const struct ada_event *event)
{
	int result = 0;

	while (!result && calls->stack.count && calls->stack.items[calls->stack.count - 1].depth >= event->call_depth)
		result = remove_top(calls);
	take_gap(calls, event);
	return result;
}

static int call_begin(struct ada_calls *calls, const struct ada_event *event, uint64_t position)
{
	struct ada_call *call;
	int result = remove_deeper(calls, event);

	if (!result)
		result = ada_array_reserve(&calls->stack, 1);
	if (result)
		return result;
	call = &calls->stack.items[calls->stack.count++];
	*call = (struct ada_call){
		.function_id = event->function_id,
		.caller_id = calls->stack.count > 1 ? call[-1].function_id : ADA_NO_FUNCTION,
		.start_ns = event->timestamp_ns,
		.position = position,
		.losses = calls->losses,
		.depth = event->call_depth,
	};
	if (calls->receiver.begun)
		calls->receiver.begun(calls->receiver.context, call);
	return 0;
}

/* Number of the open call of this depth and function; the stack's count: there is none. */
static size_t find_open(const struct ada_calls *calls, const struct ada_event *event)
{
	size_t count = calls->stack.count;
	/* The answer is nearly always the innermost one. */
	size_t low = count && calls->stack.items[count - 1].depth == event->call_depth ?
			     count - 1 :
			     ada_array_below(&calls->stack, depth, event->call_depth);

	if (low < count && calls->stack.items[low].depth == event->call_depth && calls->stack.items[low].function_id == event->function_id)
		return low;
	return count;
}

static void call_finish(struct ada_calls *calls, struct ada_call *call, const struct ada_event *event, uint64_t position)
{
	call->end_ns = event->timestamp_ns;
	call->end_position = position;
	report(calls, call, event->event_kind == ADA_EVENT_RETURN ? ADA_OUTCOME_RETURN : ADA_OUTCOME_EXCEPTION);
}

/* A late end, on another stack of the thread: the call counts in no parent, for the call below it now did not make it. */
static void end_aside(struct ada_calls *calls, const struct ada_event *event, uint64_t position)
{
	for (size_t i = calls->aside.count; i-- > 0;) {
		struct ada_call call = calls->aside.items[i];

		if (call.depth != event->call_depth || call.function_id != event->function_id)
			continue;
		memmove(calls->aside.items + i, calls->aside.items + i + 1, (--calls->aside.count - i) * sizeof *calls->aside.items);
		call_finish(calls, &call, event, position);
		return;
	}
	calls->orphans++;
}

static int call_end(struct ada_calls *calls, const struct ada_event *event, uint64_t position)
{
	size_t number = find_open(calls, event);
	struct ada_call *call;
	int result = 0;

	if (number == calls->stack.count) {
		end_aside(calls, event, position);
		/* After a loss this is the end of a call that took the place of those on the stack. */
		return calls->after_loss ? remove_deeper(calls, event) : 0;
	}
	while (!result && calls->stack.count > number + 1)
		result = remove_top(calls);
	if (result)
		return result;
	take_gap(calls, event);
	calls->stack.count = number;
	call = &calls->stack.items[number];
	if (number)
		calls->stack.items[number - 1].children_ns += ada_call_duration_to(call, event->timestamp_ns);
	call_finish(calls, call, event, position);
	return 0;
}

int ada_calls_feed(struct ada_calls *calls, const struct ada_event *event, uint64_t position)
{
	int result = 0;

	switch (event->event_kind) {
	case ADA_EVENT_CALL: result = call_begin(calls, event, position); break;
	case ADA_EVENT_RETURN:
	case ADA_EVENT_EXCEPTION: result = call_end(calls, event, position); break;
	case ADA_EVENT_LOST:
		forget_oldest(calls, calls->aside.count);
		if (!calls->after_loss)
			calls->before_loss_ns = calls->last_ns;
		calls->lost += event->function_id;
		calls->losses++;
		break;
	case ADA_EVENT_RECORDER:
		for (size_t i = 0; i < calls->stack.count; i++)
			calls->stack.items[i].waited_ns += event->function_id;
		calls->last_ns = event->timestamp_ns;
		return 0;
	default: return 0;
	}
	calls->last_ns = event->timestamp_ns;
	calls->after_loss = event->event_kind == ADA_EVENT_LOST;
	return result;
}

void ada_calls_end(struct ada_calls *calls, uint64_t end_ns)
{
	end_ns = end_ns > calls->last_ns ? end_ns : calls->last_ns;
	forget_oldest(calls, calls->aside.count);
	take_gap(calls, &(struct ada_event){ .timestamp_ns = end_ns });
	while (calls->stack.count) {
		struct ada_call *call = &calls->stack.items[--calls->stack.count];

		call->end_ns = end_ns;
		if (calls->stack.count)
			calls->stack.items[calls->stack.count - 1].children_ns += ada_call_duration(call);
		report(calls, call, ADA_OUTCOME_OPEN);
	}
	calls->last_ns = 0;
	calls->after_loss = false;
}

void ada_calls_close(struct ada_calls *calls)
{
	ada_array_free(&calls->stack);
	ada_array_free(&calls->aside);
}
