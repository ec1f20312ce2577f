/* Which path a descriptor was opened as, or which address it was connected to. The last event before the wait that made the descriptor,
 * closed it or replaced it says so, where that is an open whose path was captured (ada trace --capture), or a connect whose address was. Nobody
 * captures whom an accept is of. Where one of them has no detail, or events are missing, nobody knows. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include "query/cause/internal.h"
#include "query/session/mutes.h"
#include "query/session/windows.h"

struct change { /* the last one of a descriptor */
	const struct ada_thread *thread;
	uint64_t position, ns;
	enum ada_does does;
	bool known; /* it is an open, or a connect */
};

/* A call of connect; *known: it succeeded, or goes on behind it. One that failed leaves nobody knows what. */
static bool is_connect(const struct ada_thread *thread, uint64_t position, uint64_t descriptor, bool *known)
{
	uint64_t end = ada_cause_end(thread, position, thread->count);
	const struct ada_event call = *atf_thread_get(thread->events, position);
	struct atf_captured captured;
	struct atf_detail record;
	uint32_t at = 0;
	int error = 0;

	if (call.detail_seq == ADA_NO_DETAIL || ada_thread_detail(thread, position, &record) || record.flags & ATF_DETAIL_REDACTED_ANY)
		return true;
	if ((uint32_t)record.x[0] != descriptor)
		return false;
	if (end == UINT64_MAX || atf_thread_get(thread->events, end)->detail_seq == ADA_NO_DETAIL ||
	    ada_thread_detail(thread, end, &record))
		return true;
	while (atf_detail_captured(&record, &at, &captured))
		if (captured.argument == ATF_CAPTURED_ERRNO && captured.length == sizeof error)
			memcpy(&error, captured.bytes, sizeof error);
	*known = !(uint32_t)record.x[0] || error == EINPROGRESS;
	return true;
}

/* Whether the event may change what the descriptor is; *known: it is an open of which it is the result, or a connect. */
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
	case ADA_DOES_CONNECT: return !returns && is_connect(thread, position, descriptor, known);
	case ADA_DOES_OPEN:
	case ADA_DOES_OPEN_AT:
	case ADA_DOES_ACCEPT:
	case ADA_DOES_MAKE_DESCRIPTOR:
		if (!returns)
			return false;
		if (event.detail_seq == ADA_NO_DETAIL || ada_thread_detail(thread, position, &record))
			return true;
		*known = does == ADA_DOES_OPEN || does == ADA_DOES_OPEN_AT;
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

/* "127.0.0.1:5432", "[::1]:80", "/run/x.sock", "@abstract"; NULL: no address that this knows, or not all of it is there. */
static char *address_text(const struct atf_captured *captured)
{
	char host[INET6_ADDRSTRLEN], text[sizeof(struct sockaddr_un) + INET6_ADDRSTRLEN];
	struct sockaddr_storage address = {};
	const struct sockaddr_in *in = (const void *)&address;
	const struct sockaddr_in6 *in6 = (const void *)&address;
	const struct sockaddr_un *local = (const void *)&address;
	size_t length = captured->length < sizeof address ? captured->length : sizeof address;
	size_t behind = length > offsetof(struct sockaddr_un, sun_path) ? length - offsetof(struct sockaddr_un, sun_path) : 0;

	memcpy(&address, captured->bytes, length);
	if (address.ss_family == AF_INET && length >= sizeof *in && inet_ntop(AF_INET, &in->sin_addr, host, sizeof host))
		snprintf(text, sizeof text, "%s:%u", host, ntohs(in->sin_port));
	else if (address.ss_family == AF_INET6 && length >= sizeof *in6 && inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof host))
		snprintf(text, sizeof text, "[%s]:%u", host, ntohs(in6->sin6_port));
	else if (address.ss_family == AF_UNIX && behind && local->sun_path[0])
		snprintf(text, sizeof text, "%.*s", (int)behind, local->sun_path);
	else if (address.ss_family == AF_UNIX && behind > 1)
		snprintf(text, sizeof text, "@%.*s", (int)behind - 1, local->sun_path + 1);
	else
		return NULL;
	return strdup(text);
}

/* Of the connect that begins at `position`. */
static char *peer_of(const struct ada_thread *thread, uint64_t position)
{
	struct atf_captured captured;
	struct atf_detail record;
	uint32_t at = 0;

	if (atf_thread_get(thread->events, position)->detail_seq == ADA_NO_DETAIL || ada_thread_detail(thread, position, &record))
		return NULL;
	while (atf_detail_captured(&record, &at, &captured))
		if (captured.argument == 2 && !(captured.flags & ATF_CAPTURED_STRING))
			return address_text(&captured);
	return NULL;
}

void ada_cause_descriptor(struct ada_cause_reader *reader, struct ada_cause_link *link, enum ada_does does)
{
	const struct ada_process *process = link->thread->process;
	struct change last = {};
	struct ada_muted muted;

	if (does == ADA_DOES_CONNECT) { /* it says itself where to */
		link->peer = peer_of(link->thread, link->wait_position);
		return;
	}
	if (ada_process_muted(process, 0, &muted))
		return;
	for (size_t i = 0; i < process->thread_count; i++) {
		const struct ada_thread *thread = &reader->session->threads.items[process->first_thread + i];

		if (thread->events && !find_change(reader, thread, link->object, link->wait_start_ns, &last))
			return;
	}
	if (last.known && last.does == ADA_DOES_CONNECT)
		link->peer = peer_of(last.thread, last.position);
	else if (last.known)
		link->opened = path_of(&last);
}
