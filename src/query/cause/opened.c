/* Which path a descriptor was opened as. The last event before the wait that made the descriptor, closed it or replaced it says so, where that
 * is an open whose path was captured (ada trace --capture). Where one of them has no detail, or events are missing, nobody knows. */
#include <stdlib.h>
#include <string.h>
#include "query/cause/internal.h"
#include "query/session/mutes.h"
#include "query/session/windows.h"

struct change { /* the last one of a descriptor */
	const struct ada_thread *thread;
	uint64_t position, ns;
	enum ada_does does;
	bool known; /* it is an open */
};

/* Whether the event may change what the descriptor is; *known: it is an open of which it is the result. */
static bool is_change(const struct ada_thread *thread, uint64_t position, enum ada_does does, uint64_t descriptor, bool *known)
{
	const struct ada_event event = *atf_thread_get(thread->events, position);
	bool returns = event.event_kind == ADA_EVENT_RETURN;
	struct atf_detail record;

	*known = false;
	switch (does) {
	case ADA_DOES_CLOSE_STREAM:
	case ADA_DOES_CLOSE_ANY: return true;
	case ADA_DOES_CLOSE:
	case ADA_DOES_REPLACE:
		if (returns)
			return false;
		return event.detail_seq == ADA_NO_DETAIL || ada_thread_detail(thread, position, &record) ||
		       record.flags & ATF_DETAIL_REDACTED_ANY || (uint32_t)record.x[does == ADA_DOES_REPLACE] == descriptor;
	case ADA_DOES_OPEN:
	case ADA_DOES_OPEN_AT:
	case ADA_DOES_MAKE_DESCRIPTOR:
		if (!returns)
			return false;
		if (event.detail_seq == ADA_NO_DETAIL || ada_thread_detail(thread, position, &record))
			return true;
		*known = does != ADA_DOES_MAKE_DESCRIPTOR;
		return (uint32_t)record.x[0] == descriptor;
	default: return false;
	}
}

/* Reads a thread back to where it last changed the descriptor, or to the change found so far. False: nobody knows. */
static bool find_change(struct ada_cause_reader *reader, const struct ada_thread *thread, uint64_t descriptor, uint64_t before_ns,
			struct change *change)
{
	for (uint64_t i = atf_thread_lower_bound(thread->events, before_ns); i-- > 0;) {
		const struct ada_event *event = atf_thread_get(thread->events, i);
		enum ada_does does;
		bool known;

		if (change->thread && event->timestamp_ns <= change->ns)
			return true;
		if (!ada_cause_pay(reader, 1) || event->event_kind == ADA_EVENT_LOST)
			return false;
		if (event->event_kind != ADA_EVENT_CALL && event->event_kind != ADA_EVENT_RETURN)
			continue;
		does = ada_cause_does(reader, thread->process, event->function_id);
		if (!is_change(thread, i, does, descriptor, &known))
			continue;
		*change = (struct change){ thread, i, event->timestamp_ns, does, known };
		return true;
	}
	return true;
}

static char *path_of(const struct change *change)
{
	const struct ada_event end = *atf_thread_get(change->thread->events, change->position);
	struct atf_captured captured;
	struct atf_detail record;
	uint64_t i = change->position;
	uint32_t at = 0;

	while (i-- > 0) {
		const struct ada_event *event = atf_thread_get(change->thread->events, i);

		if (event->event_kind == ADA_EVENT_CALL && event->call_depth <= end.call_depth)
			break;
	}
	if (i == UINT64_MAX || atf_thread_get(change->thread->events, i)->function_id != end.function_id ||
	    atf_thread_get(change->thread->events, i)->detail_seq == ADA_NO_DETAIL || ada_thread_detail(change->thread, i, &record))
		return NULL;
	while (atf_detail_captured(&record, &at, &captured))
		if (captured.argument == (change->does == ADA_DOES_OPEN_AT ? 2 : 1) && captured.flags == ATF_CAPTURED_STRING)
			return strndup((const char *)captured.bytes, captured.length);
	return NULL;
}

char *ada_cause_opened(struct ada_cause_reader *reader, const struct ada_process *process, uint64_t descriptor, uint64_t before_ns)
{
	struct change last = {};
	struct ada_muted muted;

	if (ada_process_muted(process, 0, &muted))
		return NULL;
	for (size_t i = 0; i < process->thread_count; i++) {
		const struct ada_thread *thread = &reader->session->threads.items[process->first_thread + i];

		if (thread->events && !find_change(reader, thread, descriptor, before_ns, &last))
			return NULL;
	}
	return last.known ? path_of(&last) : NULL;
}
