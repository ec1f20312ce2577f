/* Who held an object, from when to when. A thread's operations on it are read back: what it gave back it held, from the operation that
 * took it on; what it took without giving it back it still holds. An attempt that may have failed (trylock, a time limit) only counts
 * where the object was given back behind it. */
#include <errno.h>
#include <stdlib.h>
#include "base/interrupt.h"
#include "query/cause/internal.h"

struct holding {
	const struct ada_question *question;
	struct ada_back back;
	struct ada_holds *holds;
	uint64_t taken; /* how many more times it was given back than taken, behind the place at hand */
	uint64_t end_ns, last;
	uint64_t horizon_ns; /* what is earlier is not known: calls may be missing before */
	bool any, settled;   /* settled: nothing further back matters */
};

void ada_cause_add_hold(struct ada_holds *holds, const struct ada_hold *hold)
{
	holds->times += hold->overlap_ns > 0;
	holds->overlap_ns += hold->overlap_ns;
	if (!holds->longest.thread || hold->overlap_ns > holds->longest.overlap_ns)
		holds->longest = *hold;
}

/* The thread took the object at start_ns, by the CALL at `first`, and gave it back at the end at hand. */
static void add_hold(struct holding *holding, uint64_t first, uint64_t start_ns, bool partly)
{
	const struct ada_question *question = holding->question;
	uint64_t from_ns = start_ns > question->from_ns ? start_ns : question->from_ns;
	struct ada_hold hold = { holding->back.thread, start_ns, holding->end_ns, first, holding->last, 0, partly, false };

	if (start_ns > question->to_ns || hold.end_ns < question->from_ns)
		return;
	hold.overlap_ns = hold.end_ns > from_ns ? hold.end_ns - from_ns : 0;
	holding->holds->threads += !holding->any;
	holding->any = true;
	ada_cause_add_hold(holding->holds, &hold);
}

static void give_back(struct holding *holding, uint64_t position, uint64_t ns)
{
	if (!holding->taken++) {
		holding->end_ns = ns;
		holding->last = position;
	}
}

/* False: nothing further back matters. */
static bool take_object(struct holding *holding, const struct ada_operation *operation, bool sure)
{
	uint64_t end = ada_cause_end(holding->back.thread, operation->position, holding->back.thread->count), ns;

	ns = end == UINT64_MAX ? UINT64_MAX : atf_thread_get(holding->back.thread->events, end)->timestamp_ns;
	if (!holding->taken) {
		if (!sure)
			return true;
		if (ns > holding->question->to_ns) /* it waits for the object, too */
			return true;
		holding->end_ns = holding->question->to_ns;
		holding->last = UINT64_MAX;
		add_hold(holding, operation->position, ns, false);
		return !holding->question->open; /* it may have held it for longer before, within the wait */
	}
	if (!--holding->taken)
		add_hold(holding, operation->position, ns == UINT64_MAX ? operation->ns : ns, false);
	return true;
}

/* A wait for a condition gives its mutex back at its beginning, and has it again at its end. */
static bool take_around_wait(struct holding *holding, const struct ada_operation *operation)
{
	bool on = take_object(holding, operation, true);

	if (on)
		give_back(holding, operation->position, operation->ns);
	return on;
}

static bool operation_count(struct holding *holding, const struct ada_operation *operation)
{
	bool before = operation->ns < holding->question->from_ns;

	switch (operation->does) {
	case ADA_DOES_LOCK: return take_object(holding, operation, true);
	case ADA_DOES_TRY:
	case ADA_DOES_TRY_LOCK: return take_object(holding, operation, false);
	case ADA_DOES_COND_WAIT: return operation->as_mutex ? take_around_wait(holding, operation) : true;
	case ADA_DOES_UNLOCK:
		if (before && !holding->taken)
			return false;
		give_back(holding, operation->position, operation->ns);
		return true;
	default: return true;
	}
}

static void open_holding(struct holding *holding, struct ada_cause_reader *reader, const struct ada_thread *thread,
			 const struct ada_question *question, uint64_t horizon_ns, struct ada_holds *holds)
{
	uint64_t end = question->to_ns == UINT64_MAX ? thread->count : atf_thread_lower_bound(thread->events, question->to_ns + 1);

	*holding = (struct holding){ .question = question, .holds = holds, .horizon_ns = horizon_ns };
	holding->back = (struct ada_back){
		.reader = reader, .thread = thread, .object = question->object, .at = end, .by_detail = question->by_detail
	};
}

/* Reads on back to from_ns, and further where the thread gave the object back and isn't seen yet to have taken it. */
static void look_back(struct holding *holding, uint64_t from_ns)
{
	const struct ada_event *before;
	struct ada_operation operation;

	from_ns = from_ns > holding->horizon_ns ? from_ns : holding->horizon_ns;
	while (!holding->settled && ada_back_next(&holding->back, holding->taken ? holding->horizon_ns : from_ns, &operation))
		holding->settled = !operation_count(holding, &operation) ||
				   (operation.ns < holding->question->from_ns && !holding->taken && !ada_does_attempt(operation.does));
	/* What it gave back it held while none of its events, up to there, took it. */
	before = holding->back.at ? atf_thread_get(holding->back.thread->events, holding->back.at - 1) : NULL;
	if (holding->taken && !holding->settled && holding->horizon_ns && (!before || before->timestamp_ns < holding->horizon_ns)) {
		add_hold(holding, holding->back.at, holding->horizon_ns, true);
		holding->settled = true;
	}
	if (holding->back.exhausted && holding->taken && !holding->settled)
		add_hold(holding, holding->back.at, atf_thread_get(holding->back.thread->events, holding->back.at)->timestamp_ns, true);
	holding->holds->exhausted |= holding->back.exhausted;
	holding->settled |= holding->back.exhausted || !holding->back.at || from_ns <= holding->horizon_ns;
}

#define FIRST_REACH_NS 1000000
#define HOLD_BUDGET (4u << 20) /* events, of a wait that ended: its holder is known also where they don't reach back to its beginning */

/* By calls that took it and gave it back, of which none is missing behind the horizon. */
static int holds_by_calls(struct ada_cause_reader *reader, const struct ada_question *question, uint64_t horizon_ns,
			  struct ada_holds *holds)
{
	const struct ada_process *process = question->thread->process;
	uint64_t since_ns = question->open ? horizon_ns : question->from_ns;
	ADA_ARRAY(struct holding) all = {};
	uint64_t reach_ns = FIRST_REACH_NS, own = reader->budget / 8 * 3, kept; /* the rest: for what the holder did meanwhile */
	size_t settled = 0;
	int result = 0;

	*holds = (struct ada_holds){};
	if (!question->open && own > HOLD_BUDGET)
		own = HOLD_BUDGET;
	kept = reader->budget - own;
	reader->budget = own;
	for (size_t i = 0; i < process->thread_count && !result && !holds->exhausted; i++) {
		const struct ada_thread *thread = &reader->session->threads.items[process->first_thread + i];

		if (thread == question->thread || !ada_cause_lived(reader, thread, since_ns, question->to_ns))
			continue;
		result = ada_array_reserve(&all, 1);
		if (result)
			break;
		open_holding(&all.items[all.count], reader, thread, question, horizon_ns, holds);
		look_back(&all.items[all.count++], question->from_ns);
	}
	/* A wait that ended was ended by whoever gave the object back meanwhile. Of one that goes on, the holder may have it since long: we
	 * look further and further back, at all threads alike, until one is seen to hold it. */
	while (question->open && !holds->longest.thread && settled < all.count && !result && !ada_interrupted()) {
		settled = 0;
		for (size_t i = 0; i < all.count; i++) {
			look_back(&all.items[i], question->from_ns > reach_ns ? question->from_ns - reach_ns : 0);
			settled += all.items[i].settled;
		}
		reach_ns *= 8;
	}
	reader->budget += kept;
	ada_array_free(&all);
	return result;
}

/* What is earlier proves nothing: calls may be missing. */
static uint64_t horizon_of(const struct ada_question *question)
{
	return question->mutex ? ada_process_filtered_until(question->thread->process, question->from_ns) : 0;
}

void ada_cause_own_hold(struct ada_cause_reader *reader, const struct ada_question *question, struct ada_holds *holds)
{
	struct holding own;

	if (ada_cause_told_itself(question)) {
		ada_cause_hold_itself(question, holds);
		return;
	}
	open_holding(&own, reader, question->thread, question, horizon_of(question), holds);
	look_back(&own, 0);
}

int ada_cause_holds(struct ada_cause_reader *reader, const struct ada_question *question, struct ada_holds *holds)
{
	const struct ada_process *process = question->thread->process;
	uint64_t horizon_ns = horizon_of(question);
	struct ada_question at_begin = *question;
	struct ada_hold before;
	int result = 0;

	*holds = (struct ada_holds){};
	if (ada_cause_told_itself(question)) /* then nobody else does */
		return 0;
	if (!question->mutex || !ada_process_filtered(process, question->from_ns, question->to_ns))
		return holds_by_calls(reader, question, horizon_ns, holds);
	at_begin.to_ns = at_begin.from_ns;
	at_begin.open = true;
	if (horizon_ns < question->from_ns)
		result = holds_by_calls(reader, &at_begin, horizon_ns, holds);
	before = holds->longest;
	return result ? result : ada_cause_holds_filtered(reader, question, &before, holds);
}

int ada_cause_stream_holds(struct ada_cause_reader *reader, struct ada_question *question, struct ada_holds *holds)
{
	int result;

	question->by_detail = false;
	result = ada_cause_holds(reader, question, holds);
	if (result || !holds->longest.thread || holds->longest.overlap_ns * 2 < question->to_ns - question->from_ns)
		*holds = (struct ada_holds){};
	return result;
}

/* --- initialisers: pthread_once, call_once and std::call_once ----------------------------------------------------------- */

/* Who ran one while others waited in the same function for the same object. A call that began earlier doesn't prove it; that calls are open
 * below its call of the function does, since who waits there calls nothing. */

/* The thread's call of such a function for the object that was open then, with calls below it; UINT64_MAX: none was. */
static uint64_t initialising(struct ada_cause_reader *reader, const struct ada_thread *thread, const struct ada_stack *stack,
			     uint64_t object)
{
	for (size_t i = 0; i + 1 < stack->frames.count; i++) {
		const struct ada_frame *frame = &stack->frames.items[i];
		enum ada_does does = ada_cause_does(reader, thread->process, frame->function_id);
		uint64_t its_object;

		/* call_once may be seen to call pthread_once */
		if (does == ADA_DOES_ONCE && ada_cause_does(reader, thread->process, frame[1].function_id) != ADA_DOES_ONCE &&
		    ada_cause_object(thread, frame->position, does, 0, &its_object) && its_object == object)
			return frame->position;
	}
	return UINT64_MAX;
}

static void take_hold(const struct ada_question *question, const struct ada_thread *thread, uint64_t position, struct ada_hold *hold)
{
	uint64_t end = ada_cause_end(thread, position, thread->count), from_ns;

	*hold = (struct ada_hold){ .thread = thread, .first = position, .last = UINT64_MAX, .end_ns = question->to_ns };
	hold->start_ns = atf_thread_get(thread->events, position)->timestamp_ns;
	if (end != UINT64_MAX && (!question->open || atf_thread_get(thread->events, end)->timestamp_ns <= question->to_ns)) {
		hold->end_ns = atf_thread_get(thread->events, end)->timestamp_ns;
		hold->last = end;
	}
	from_ns = hold->start_ns > question->from_ns ? hold->start_ns : question->from_ns;
	hold->overlap_ns = hold->end_ns > from_ns ? hold->end_ns - from_ns : 0;
}

/* Whether the thread that is asked about had calls open at that time below its own call of the function, as whoever runs the initialiser has. */
static bool initialises(struct ada_cause_reader *reader, const struct ada_question *question, uint64_t ns)
{
	const struct ada_thread *thread = question->thread;
	const struct ada_event call = *atf_thread_get(thread->events, question->position), *event;
	uint64_t first = question->position + 1, last = atf_thread_lower_bound(thread->events, ns);

	while ((event = atf_thread_get(thread->events, first)) && event->event_kind > ADA_EVENT_LOST)
		first++;
	if (!event || event->event_kind != ADA_EVENT_CALL || event->call_depth <= call.call_depth ||
	    ada_cause_does(reader, thread->process, event->function_id) == ADA_DOES_ONCE)
		return false;
	while (last > first && atf_thread_get(thread->events, last - 1)->event_kind > ADA_EVENT_LOST)
		last--;
	event = last > first ? atf_thread_get(thread->events, last - 1) : NULL;
	return event && event->call_depth > call.call_depth + (event->event_kind != ADA_EVENT_CALL);
}

int ada_cause_initialiser(struct ada_cause_reader *reader, const struct ada_question *question, struct ada_holds *holds)
{
	const struct ada_process *process = question->thread->process;
	uint64_t middle_ns = question->from_ns + (question->to_ns - question->from_ns) / 2;
	int result = 0;

	*holds = (struct ada_holds){};
	if (initialises(reader, question, middle_ns))
		return 0;
	for (size_t i = 0; i < process->thread_count && !result; i++) {
		const struct ada_thread *thread = &reader->session->threads.items[process->first_thread + i];
		struct ada_stack stack;
		uint64_t position;

		if (thread == question->thread || (thread->end_ns && thread->end_ns < middle_ns) ||
		    !ada_cause_lived(reader, thread, 0, middle_ns))
			continue;
		if (ada_interrupted())
			return -EINTR;
		result = ada_stack_at(&stack, thread, atf_thread_lower_bound(thread->events, middle_ns));
		position = result ? UINT64_MAX : initialising(reader, thread, &stack, question->object);
		if (position != UINT64_MAX && !holds->threads++)
			take_hold(question, thread, position, &holds->longest);
		ada_stack_close(&stack);
	}
	/* One does. Another with calls below has a signal handler there: nobody knows which. */
	if (holds->threads != 1)
		*holds = (struct ada_holds){};
	return result;
}
