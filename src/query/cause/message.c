/* Who wrote to an eventfd that a thread waited for. Writes to the same descriptor of the same process are writes to the same counter, as long as
 * nobody changes the descriptor; one that adds 0 wakes nobody. Of two that wrote meanwhile nobody knows which woke the thread, and a write whose descriptor isn't recorded
 * may have been one. Another process, or a copy of the descriptor, may write as well: that would have woken the thread earlier than the write
 * that is seen, so that counts only in the second half of the wait. Of pipes and sockets nobody records which two ends belong together. */
#include "query/cause/internal.h"
#include "query/session/mutes.h"
#include "query/session/windows.h"

struct search {
	const struct ada_cause_link *link;
	const struct ada_thread *writer;
	uint64_t position; /* of its first write */
};

/* Looks at a call of `does`. False: nobody knows who wrote. */
static bool take_write(struct search *search, const struct ada_thread *thread, uint64_t position, enum ada_does does)
{
	uint64_t descriptor, end = ada_cause_end(thread, position, thread->count);
	struct atf_detail record;

	if (!ada_cause_object(thread, position, does, 0, &descriptor))
		return false;
	if (descriptor != search->link->object)
		return true;
	if (end == UINT64_MAX || atf_thread_get(thread->events, end)->detail_seq == ADA_NO_DETAIL)
		return false;
	if (ada_cause_result(thread, position) != (does == ADA_DOES_WRITE ? sizeof(uint64_t) : 0))
		return true; /* it failed */
	if (does == ADA_DOES_COUNTER_WRITE && !ada_thread_detail(thread, position, &record) && !record.x[1])
		return true; /* it added nothing */
	if (search->writer && search->writer != thread)
		return false;
	if (!search->writer)
		search->position = position;
	search->writer = thread;
	return true;
}

/* Reads what a thread did meanwhile. False: nobody knows who wrote. */
static bool read_thread(struct ada_cause_reader *reader, struct search *search, const struct ada_thread *thread)
{
	const struct ada_cause_link *link = search->link;
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
		    !take_write(search, thread, at, does))
			return false;
	}
	return true;
}

bool ada_cause_writer(struct ada_cause_reader *reader, const struct ada_cause_link *link, const struct ada_thread **writer,
		      uint64_t *position)
{
	const struct ada_process *process = link->thread->process;
	struct search search = { .link = link };
	struct ada_muted muted;

	if (ada_process_muted(process, 0, &muted))
		return false;
	for (size_t i = 0; i < process->thread_count; i++) {
		const struct ada_thread *thread = &reader->session->threads.items[process->first_thread + i];

		if (thread != link->thread && thread->events && !read_thread(reader, &search, thread))
			return false;
	}
	if (!search.writer || (atf_thread_get(search.writer->events, search.position)->timestamp_ns - link->wait_start_ns) * 2 <
				      link->wait_end_ns - link->wait_start_ns)
		return false;
	*writer = search.writer;
	*position = search.position;
	return true;
}
