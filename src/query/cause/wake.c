/* Who ended a wait: by a signal, a post, an arrival, giving an object back, or its own end. */
#include "query/cause/internal.h"

/* Whether what a function does can end a wait of this sort. */
static bool ends_wait(const struct ada_operation *operation, enum ada_does waits)
{
	switch (waits) {
	case ADA_DOES_COND_WAIT: return operation->does == ADA_DOES_SIGNAL;
	case ADA_DOES_SEM_WAIT: return operation->does == ADA_DOES_SEM_POST;
	case ADA_DOES_BARRIER: return operation->does == ADA_DOES_BARRIER;
	case ADA_DOES_FUTEX: return operation->does == ADA_DOES_FUTEX;
	default: return operation->does == ADA_DOES_UNLOCK || operation->as_mutex;
	}
}

static bool find_last(struct ada_cause_reader *reader, const struct ada_thread *thread, const struct ada_question *question,
		      enum ada_does does, bool before, struct ada_operation *by)
{
	uint64_t to_ns = before ? question->from_ns : question->to_ns;
	struct ada_back back = { .reader = reader,
				 .thread = thread,
				 .object = question->object,
				 .at = to_ns == UINT64_MAX ? thread->count : atf_thread_lower_bound(thread->events, to_ns + !before),
				 .by_detail = question->by_detail };

	while (ada_back_next(&back, before ? 0 : question->from_ns, by))
		if (ends_wait(by, does))
			return true;
	return false;
}

const struct ada_thread *ada_cause_waker(struct ada_cause_reader *reader, const struct ada_question *question, enum ada_does does,
					 bool before, struct ada_operation *by)
{
	const struct ada_process *process = question->thread->process;
	const struct ada_thread *found = NULL;

	for (size_t i = 0; i < process->thread_count; i++) {
		const struct ada_thread *thread = &reader->session->threads.items[process->first_thread + i];
		struct ada_operation operation;

		if (thread == question->thread || !thread->events || !find_last(reader, thread, question, does, before, &operation) ||
		    (found && operation.ns <= by->ns))
			continue;
		found = thread;
		*by = operation;
	}
	return found;
}

bool ada_cause_consumed(struct ada_cause_reader *reader, const struct ada_question *question, enum ada_does does, uint64_t ns)
{
	const struct ada_process *process = question->thread->process;

	for (size_t i = 0; i < process->thread_count; i++) {
		const struct ada_thread *thread = &reader->session->threads.items[process->first_thread + i];
		struct ada_back back = { .reader = reader, .thread = thread, .object = question->object, .by_detail = question->by_detail };
		struct ada_operation operation;
		uint64_t end;

		back.at = thread->events ? atf_thread_lower_bound(thread->events, ns) : 0;
		if (!ada_back_next(&back, 0, &operation) || operation.does != does)
			continue;
		end = ada_cause_end(thread, operation.position, thread->count);
		if (end == UINT64_MAX || atf_thread_get(thread->events, end)->timestamp_ns >= ns)
			return true;
	}
	return false;
}

const struct ada_thread *ada_cause_ended(const struct ada_thread *but, uint64_t from_ns, uint64_t to_ns)
{
	const struct ada_process *process = but->process;
	const struct ada_thread *found = NULL;

	for (size_t i = 0; i < process->thread_count; i++) {
		const struct ada_thread *thread = &process->session->threads.items[process->first_thread + i];
		uint64_t last_ns = thread->count ? atf_thread_get(thread->events, thread->count - 1)->timestamp_ns : 0;

		if (thread == but || !thread->events || !thread->count || last_ns < from_ns || last_ns > to_ns)
			continue;
		if (found)
			return NULL;
		found = thread;
	}
	return found;
}
