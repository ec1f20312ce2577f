/* Who ran the initialiser of pthread_once, call_once and std::call_once while others waited in the same function for the same object. A call
 * that began earlier doesn't prove it; that calls are open below its call of the function does, since who waits there calls nothing. */
#include "query/cause/internal.h"

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

int ada_cause_initialiser(struct ada_cause_reader *reader, const struct ada_question *question, struct ada_holds *holds)
{
	const struct ada_process *process = question->thread->process;
	uint64_t middle_ns = question->from_ns + (question->to_ns - question->from_ns) / 2;
	int result = 0;

	*holds = (struct ada_holds){};
	for (size_t i = 0; i < process->thread_count && !result; i++) {
		const struct ada_thread *thread = &reader->session->threads.items[process->first_thread + i];
		struct ada_stack stack;
		uint64_t position;

		if (thread == question->thread || !thread->events)
			continue;
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
