/* What a thread did with one object, read back from a time on. */
#include "atf/session/thread.h"
#include "query/calls/floors.h"
#include "query/cause/internal.h"
#include "query/session/stretch.h"

#define TURN_EVENTS 4096
#define NEAR_EVENTS ADA_FLOOR_EVENTS /* of what lies further back it is learnt where the object doesn't occur */
#define PASSED_PER_READ 32

/* The CALL that an OBJECT event at `position` belongs to. */
static bool find_call(const struct ada_thread *thread, uint64_t position, unsigned int *which, uint64_t *call)
{
	uint32_t depth = atf_thread_get(thread->events, position)->call_depth;

	*which = 0;
	while (position-- > 0) {
		const struct ada_event *event = atf_thread_get(thread->events, position);

		if (event->call_depth > depth) /* of a signal handler between */
			continue;
		if (event->call_depth < depth)
			return false;
		if (event->event_kind == ADA_EVENT_CALL) {
			*call = position;
			return true;
		}
		if (event->event_kind != ADA_EVENT_OBJECT && event->event_kind != ADA_EVENT_RECORDER)
			return false;
		*which += event->event_kind == ADA_EVENT_OBJECT;
	}
	return false;
}

static void fill(struct ada_operation *operation, const struct ada_thread *thread, uint64_t call, enum ada_does does, bool as_mutex)
{
	const struct ada_event *event = atf_thread_get(thread->events, call);

	*operation = (struct ada_operation){
		.position = call, .ns = event->timestamp_ns, .function_id = event->function_id, .does = does, .as_mutex = as_mutex
	};
}

static bool take_object(struct ada_back *back, uint64_t position, struct ada_operation *operation)
{
	const struct ada_thread *thread = back->thread;
	unsigned int which;
	uint64_t call;

	if (!find_call(thread, position, &which, &call))
		return false;
	fill(operation, thread, call, ada_cause_does(back->reader, thread->process, atf_thread_get(thread->events, call)->function_id),
	     which == 1);
	return true;
}

static bool take_call(struct ada_back *back, uint64_t position, struct ada_operation *operation)
{
	enum ada_does does = ada_cause_does(back->reader, back->thread->process,
					    atf_thread_get(back->thread->events, position)->function_id);
	uint64_t object;

	if (does == ADA_DOES_NOTHING)
		return false;
	for (unsigned int which = 0; which < 2; which++)
		if (ada_cause_object(back->thread, position, does, which, &object) && object == back->object) {
			fill(operation, back->thread, position, does, which == 1);
			return true;
		}
	return false;
}

/* Passes over events in which the object doesn't occur: a part of them costs as much as one that is read. False: the budget is used up. */
static bool pass_over(struct ada_back *back, uint64_t from_ns)
{
	bool packed = atf_thread_calls_from(back->thread->events, back->at) < back->at;
	uint64_t from, at;

	if (back->by_detail || (!packed && back->at % ADA_FLOOR_EVENTS))
		return true;
	from = from_ns ? atf_thread_lower_bound(back->thread->events, from_ns) : 0;
	at = back->at > from ? ada_floors_skip_without(back->thread, back->at, from, back->object, back->read >= NEAR_EVENTS) : back->at;
	if (!ada_cause_pay(back->reader, (back->at - at) / PASSED_PER_READ))
		return false;
	back->at = at;
	return true;
}

bool ada_back_next(struct ada_back *back, uint64_t from_ns, struct ada_operation *operation)
{
	while (back->at && ada_cause_lived(back->reader, back->thread, from_ns, UINT64_MAX)) {
		const struct ada_event *events;
		uint64_t to, from;

		back->exhausted = !pass_over(back, from_ns);
		if (back->exhausted || !back->at)
			return false;
		to = back->at;
		from = (to - 1) / TURN_EVENTS * TURN_EVENTS;
		events = ada_stretch_before(back->thread, to, &from);
		while (back->at > from) {
			const struct ada_event *event = &events[back->at - 1 - from];
			bool is_object = event->event_kind == ADA_EVENT_OBJECT && event->function_id == back->object;
			bool may_be = back->by_detail && event->event_kind == ADA_EVENT_CALL && event->detail_seq != ADA_NO_DETAIL;

			if (event->timestamp_ns < from_ns)
				return false;
			back->at--;
			if ((is_object && take_object(back, back->at, operation)) || (may_be && take_call(back, back->at, operation)))
				return true;
			if (is_object || may_be)
				break; /* the look at others may have moved the events: they are asked for again */
		}
		back->read += to - back->at;
		back->exhausted = !ada_cause_pay(back->reader, to - back->at);
		if (back->exhausted)
			return false;
	}
	return false;
}
