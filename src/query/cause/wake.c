/* Who ended a wait: by a signal, a post, an arrival, giving an object back, its own end, or by writing to an eventfd. */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>
#include "query/cause/internal.h"
#include "query/session/windows.h"

#define LAST_EVENTS 64	       /* of a thread that ended: detail is looked for in them */
#define STACK_MAX (8ull << 20) /* a thread that is further below a pthread_t has another */

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

static bool find_last(struct ada_back *back, uint64_t from_ns, enum ada_does does, struct ada_operation *by)
{
	while (ada_back_next(back, from_ns, by))
		if (ends_wait(by, does))
			return true;
	return false;
}

/* Of each further thread only what it did later than the one that was found. Once the budget is used up the other threads have none, either. */
const struct ada_thread *ada_cause_waker(struct ada_cause_reader *reader, const struct ada_question *question, enum ada_does does,
					 bool before, struct ada_operation *by)
{
	const struct ada_process *process = question->thread->process;
	const struct ada_thread *found = NULL;
	uint64_t from_ns = before ? 0 : question->from_ns, to_ns = before ? question->from_ns : question->to_ns;
	bool exhausted = false;

	for (size_t i = 0; i < process->thread_count && !exhausted; i++) {
		const struct ada_thread *thread = &reader->session->threads.items[process->first_thread + i];
		struct ada_back back = { .reader = reader, .thread = thread, .object = question->object, .by_detail = question->by_detail };
		struct ada_operation operation;

		if (thread == question->thread || !ada_cause_lived(reader, thread, from_ns, to_ns))
			continue;
		back.at = to_ns == UINT64_MAX ? thread->count : atf_thread_lower_bound(thread->events, to_ns + !before);
		if (find_last(&back, from_ns, does, &operation) && (!found || operation.ns > by->ns)) {
			found = thread;
			*by = operation;
			from_ns = by->ns + 1 > from_ns ? by->ns + 1 : from_ns;
		}
		exhausted = back.exhausted;
	}
	return found;
}

/* Whether the thread was waiting for the object at that time. Where the budget ends before that is known nobody is to be accused: then it was. */
static bool waited(struct ada_cause_reader *reader, const struct ada_question *question, const struct ada_thread *thread,
		   enum ada_does does, uint64_t ns)
{
	struct ada_back back = { .reader = reader, .thread = thread, .object = question->object, .by_detail = question->by_detail };
	struct ada_operation operation;
	uint64_t end;

	if (!ada_cause_lived(reader, thread, 0, ns))
		return false;
	back.at = atf_thread_lower_bound(thread->events, ns);
	if (!ada_back_next(&back, 0, &operation) || operation.does != does)
		return back.exhausted;
	end = ada_cause_end(thread, operation.position, thread->count);
	return end == UINT64_MAX || atf_thread_get(thread->events, end)->timestamp_ns >= ns;
}

/* The thread that is asked about is asked first: as it waits again it has most often been the one. */
bool ada_cause_consumed(struct ada_cause_reader *reader, const struct ada_question *question, enum ada_does does, uint64_t ns)
{
	const struct ada_process *process = question->thread->process;
	bool consumed = waited(reader, question, question->thread, does, ns);

	for (size_t i = 0; i < process->thread_count && !consumed; i++) {
		const struct ada_thread *thread = &reader->session->threads.items[process->first_thread + i];

		consumed = thread != question->thread && waited(reader, question, thread, does, ns);
	}
	return consumed;
}

/* How far below its pthread_t a thread's stack was at the last of its events that has detail: libc has the pthread_t at the stack's
 * upper end, so that of several threads the nearest is the one. UINT64_MAX: not known, or above it. */
static uint64_t distance_below(const struct ada_thread *thread, uint64_t object)
{
	uint64_t first = thread->count > LAST_EVENTS ? thread->count - LAST_EVENTS : 0;
	struct atf_detail record;

	for (uint64_t i = thread->count; i-- > first;)
		if (atf_thread_get(thread->events, i)->detail_seq != ADA_NO_DETAIL && !ada_thread_detail(thread, i, &record))
			return record.sp < object ? object - record.sp : UINT64_MAX;
	return UINT64_MAX;
}

bool ada_cause_ended_meanwhile(const struct ada_thread *thread, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t last_ns;

	if (!thread->events || !thread->count)
		return false;
	last_ns = atf_thread_get(thread->events, thread->count - 1)->timestamp_ns;
	return last_ns >= from_ns && last_ns <= to_ns;
}

const struct ada_thread *ada_cause_ended(const struct ada_thread *but, uint64_t from_ns, uint64_t to_ns, const uint64_t *object, bool exact)
{
	const struct ada_process *process = but->process;
	const struct ada_thread *found = NULL, *nearest = NULL;
	uint64_t count = 0, nearest_below = UINT64_MAX;

	for (size_t i = 0; i < process->thread_count; i++) {
		const struct ada_thread *thread = &process->session->threads.items[process->first_thread + i];
		uint64_t below;

		if (thread == but || !ada_cause_ended_meanwhile(thread, from_ns, to_ns) ||
		    (exact && thread->pointer && thread->pointer != *object))
			continue;
		count++;
		found = thread;
		below = object ? distance_below(thread, *object) : UINT64_MAX;
		if (below >= nearest_below)
			continue;
		nearest = thread;
		nearest_below = below;
	}
	return count == 1 ? found : nearest_below <= STACK_MAX ? nearest : NULL;
}

/* --- whose end a join waits for ------------------------------------------------------------------------------------------- */

/* Whether a thread that is not known to have ended had not when the wait began. What a manifest says before it is the last one is some seconds old. */
static bool had_not_ended(const struct ada_thread *thread, uint64_t from_ns)
{
	const struct ada_event *last = thread->count ? atf_thread_get(thread->events, thread->count - 1) : NULL;
	char path[64];

	if (thread->process->finalized || (last && last->timestamp_ns >= from_ns))
		return true;
	snprintf(path, sizeof path, "/proc/%" PRIu32 "/task/%" PRIu32, thread->process->pid, thread->tid);
	return ada_process_is_live(thread->process) && !access(path, F_OK);
}

const struct ada_thread *ada_cause_joined(const struct ada_thread *by, uint64_t object, uint64_t from_ns, uint64_t to_ns)
{
	const struct ada_process *process = by->process;
	const struct ada_thread *found = NULL;

	for (size_t i = 0; i < process->thread_count; i++) {
		const struct ada_thread *thread = &process->session->threads.items[process->first_thread + i];

		if (thread == by || !thread->pointer || thread->pointer != object || !thread->events || thread->start_ns > to_ns ||
		    (thread->end_ns && thread->end_ns < from_ns))
			continue;
		if (thread->end_ns && thread->start_ns <= from_ns) /* it was there when the wait began: then no other was */
			return thread;
		if (!found || thread->start_ns > found->start_ns)
			found = thread;
	}
	return found && (found->end_ns || had_not_ended(found, from_ns)) ? found : NULL;
}

const struct ada_thread *ada_cause_awaited(const struct ada_thread *thread, uint64_t position, uint64_t ns)
{
	const struct ada_event *call = atf_thread_get(thread->events, position);
	struct ada_module *module = ada_process_module(thread->process, call->function_id);
	char name[ADA_NAME_BUFFER];
	uint64_t object;

	if (!module || ada_does_of_name(ada_module_function(module, call->function_id, name)) != ADA_DOES_JOIN ||
	    !ada_cause_object(thread, position, ADA_DOES_JOIN, 0, &object))
		return NULL;
	return ada_cause_joined(thread, object, call->timestamp_ns, ns);
}

/* --- eventfds ---------------------------------------------------------------------------------------------------------------- */

/* Who wrote to an eventfd that a thread waited for. Writes to the same descriptor of the same process are writes to the same counter, as long as
 * nobody changes the descriptor; one that adds 0 wakes nobody. Of two that wrote meanwhile nobody knows which woke the thread, and a write whose descriptor isn't recorded
 * may have been one. Another process, or a copy of the descriptor, may write as well: that would have woken the thread earlier than the write
 * that is seen, so that counts only in the second half of the wait. Of pipes and sockets nobody records which two ends belong together. */
struct writes {
	const struct ada_cause_link *link;
	const struct ada_thread *writer;
	uint64_t position; /* of its first write */
};

/* Looks at a call of `does`. False: nobody knows who wrote. */
static bool take_write(struct writes *writes, const struct ada_thread *thread, uint64_t position, enum ada_does does)
{
	uint64_t descriptor, end = ada_cause_end(thread, position, thread->count);
	struct atf_detail record;

	if (!ada_cause_object(thread, position, does, 0, &descriptor))
		return false;
	if (descriptor != writes->link->object)
		return true;
	if (end == UINT64_MAX || atf_thread_get(thread->events, end)->detail_seq == ADA_NO_DETAIL)
		return false;
	if (ada_cause_result(thread, position) != (does == ADA_DOES_WRITE ? sizeof(uint64_t) : 0))
		return true; /* it failed */
	if (does == ADA_DOES_COUNTER_WRITE && !ada_thread_detail(thread, position, &record) && !record.x[1])
		return true; /* it added nothing */
	if (writes->writer && writes->writer != thread)
		return false;
	if (!writes->writer)
		writes->position = position;
	writes->writer = thread;
	return true;
}

/* Reads what a thread did meanwhile. False: nobody knows who wrote. */
static bool read_thread(struct ada_cause_reader *reader, struct writes *writes, const struct ada_thread *thread)
{
	const struct ada_cause_link *link = writes->link;
	const struct ada_event *event;

	for (uint64_t at = atf_thread_lower_bound(thread->events, link->wait_start_ns);
	     (event = atf_thread_get(thread->events, at)) && event->timestamp_ns <= link->wait_end_ns; at++) {
		uint32_t kind = event->event_kind;
		enum ada_does does;
		bool known;

		if (!ada_cause_pay(reader, 1) || kind == ADA_EVENT_LOST)
			return false;
		if (kind != ADA_EVENT_CALL && kind != ADA_EVENT_RETURN)
			continue;
		does = ada_cause_does(reader, thread->process, event->function_id);
		if (ada_cause_changes_descriptor(thread, at, does, link->object, &known))
			return false;
		if (kind == ADA_EVENT_CALL && (does == ADA_DOES_WRITE || does == ADA_DOES_COUNTER_WRITE) &&
		    !take_write(writes, thread, at, does))
			return false;
	}
	return true;
}

bool ada_cause_writer(struct ada_cause_reader *reader, const struct ada_cause_link *link, const struct ada_thread **writer,
		      uint64_t *position)
{
	const struct ada_process *process = link->thread->process;
	struct writes writes = { .link = link };

	if (ada_cause_changes_muted(reader, process, link->wait_start_ns, link->wait_end_ns))
		return false;
	for (size_t i = 0; i < process->thread_count; i++) {
		const struct ada_thread *thread = &reader->session->threads.items[process->first_thread + i];

		if (thread != link->thread && ada_cause_lived(reader, thread, link->wait_start_ns, link->wait_end_ns) &&
		    !read_thread(reader, &writes, thread))
			return false;
	}
	if (!writes.writer || (atf_thread_get(writes.writer->events, writes.position)->timestamp_ns - link->wait_start_ns) * 2 <
				      link->wait_end_ns - link->wait_start_ns)
		return false;
	*writer = writes.writer;
	*position = writes.position;
	return true;
}
