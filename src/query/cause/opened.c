/* Which path a descriptor was opened as, which address it was connected to, or which command a stream is of. The last event before the wait
 * that made it, closed it or replaced it says so, where that is an open whose path was captured (ada trace --capture), a connect whose address was,
 * or popen with its command. Where one of them has no detail, or events are missing, nobody knows. Nor whom an accept is of, whence a descriptor
 * came that is older than the recording, or what the other end of a pipe is: that the recorder may have noted at a mark, which holds for the
 * wait where nothing changed the descriptor between the two. And which child process a wait was for. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/address.h"
#include "query/cause/internal.h"
#include "query/session/windows.h"

#define NOTED_EVENTS (2u << 20) /* read for what was noted, beside the budget: most waits lie right before their mark */

struct change { /* the last one of a descriptor, or a stream */
	const struct ada_thread *thread;
	uint64_t position, ns;
	enum ada_does does;
	bool known; /* it is an open, a connect, or what makes an eventfd */
};
/* Whether the event may change what the descriptor, or the stream, is; *known: it says what it is from there on. */
typedef bool (*changes)(const struct ada_thread *thread, uint64_t position, enum ada_does does, uint64_t what, bool *known);

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

bool ada_cause_changes_descriptor(const struct ada_thread *thread, uint64_t position, enum ada_does does, uint64_t descriptor, bool *known)
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
	case ADA_DOES_MAKE_COUNTER:
	case ADA_DOES_MAKE_DESCRIPTOR:
		if (!returns)
			return false;
		if (event.detail_seq == ADA_NO_DETAIL || ada_thread_detail(thread, position, &record))
			return true;
		*known = does == ADA_DOES_OPEN || does == ADA_DOES_OPEN_AT || does == ADA_DOES_MAKE_COUNTER;
		return (uint32_t)record.x[0] == descriptor;
	default: return false;
	}
}

/* *known: it is popen, of which the stream is the result. */
static bool changes_stream(const struct ada_thread *thread, uint64_t position, enum ada_does does, uint64_t stream, bool *known)
{
	const struct ada_event event = *atf_thread_get(thread->events, position);
	bool opens = does == ADA_DOES_OPEN_COMMAND && event.event_kind == ADA_EVENT_RETURN;
	bool closes = (does == ADA_DOES_CLOSE_COMMAND || does == ADA_DOES_CLOSE_STREAM) && event.event_kind == ADA_EVENT_CALL;
	struct atf_detail record;

	*known = false;
	if (!opens && !closes)
		return false;
	if (event.detail_seq == ADA_NO_DETAIL || ada_thread_detail(thread, position, &record))
		return true;
	*known = opens;
	return record.x[0] == stream;
}

/* Reads a thread back to where it last changed it, or to the change found so far. False: nobody knows. */
static bool find_change(struct ada_cause_reader *reader, const struct ada_thread *thread, changes is_change, uint64_t what,
			uint64_t before_ns, struct change *change)
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
		if (!is_change(thread, i, does, what, &known))
			continue;
		*change = (struct change){ thread, i, event->timestamp_ns, does, known };
		return true;
	}
	return true;
}

/* The CALL of the RETURN that the change is; UINT64_MAX: not found. */
static uint64_t call_of(const struct change *change)
{
	const struct ada_event end = *atf_thread_get(change->thread->events, change->position);
	uint64_t i = change->position;

	while (i-- > 0) {
		const struct ada_event *event = atf_thread_get(change->thread->events, i);

		if (event->event_kind == ADA_EVENT_CALL && event->call_depth <= end.call_depth)
			return event->function_id == end.function_id ? i : UINT64_MAX;
	}
	return UINT64_MAX;
}

/* What was captured of an argument of the CALL; NULL: nothing. *cut: there was more of it. */
static char *captured_string(const struct ada_thread *thread, uint64_t position, unsigned int argument, bool *cut)
{
	struct atf_captured captured;
	struct atf_detail record;
	uint32_t at = 0;

	if (position == UINT64_MAX || atf_thread_get(thread->events, position)->detail_seq == ADA_NO_DETAIL ||
	    ada_thread_detail(thread, position, &record))
		return NULL;
	while (atf_detail_captured(&record, &at, &captured))
		if (captured.argument == argument && (captured.flags & ~(unsigned int)ATF_CAPTURED_CUT) == ATF_CAPTURED_STRING) {
			*cut = captured.flags & ATF_CAPTURED_CUT;
			return strndup((const char *)captured.bytes, captured.length);
		}
	return NULL;
}

static char *path_of(const struct change *change)
{
	bool cut = false;
	char *path = captured_string(change->thread, call_of(change), change->does == ADA_DOES_OPEN_AT ? 2 : 1, &cut);

	if (!cut)
		return path;
	free(path);
	return NULL;
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
			return ada_address_text(captured.bytes, captured.length);
	return NULL;
}

/* The last change of it before that time, of all threads; thread NULL: none is recorded. False: nobody knows. */
static bool find_last_change(struct ada_cause_reader *reader, const struct ada_cause_link *link, changes is_change, uint64_t what,
			     uint64_t before_ns, struct change *last)
{
	const struct ada_process *process = link->thread->process;

	*last = (struct change){};
	if (ada_cause_changes_muted(reader, process, 0, before_ns))
		return false;
	for (size_t i = 0; i < process->thread_count; i++) {
		const struct ada_thread *thread = &reader->session->threads.items[process->first_thread + i];

		if (thread->events && !find_change(reader, thread, is_change, what, before_ns, last))
			return false;
	}
	return true;
}

static bool may_matter(enum ada_does does)
{
	return does >= ADA_DOES_CONNECT || does == ADA_DOES_WRITE || does == ADA_DOES_COUNTER_WRITE;
}

bool ada_cause_changes_muted(struct ada_cause_reader *reader, const struct ada_process *process, uint64_t from_ns, uint64_t to_ns)
{
	struct ada_muted muted;

	for (size_t i = 0; ada_process_muted(process, i, &muted); i++)
		if (muted.from_ns <= to_ns && muted.to_ns >= from_ns && may_matter(ada_cause_does(reader, process, muted.function_id)))
			return true;
	return false;
}

/* Whether nothing that is recorded changes the descriptor between the two times; false also where nobody knows. */
static bool stays(struct ada_cause_reader *reader, const struct ada_cause_link *link, uint64_t from_ns, uint64_t to_ns)
{
	const struct ada_process *process = link->thread->process;

	if (ada_cause_changes_muted(reader, process, from_ns, to_ns))
		return false;
	for (size_t i = 0; i < process->thread_count; i++) {
		const struct ada_thread *thread = &reader->session->threads.items[process->first_thread + i];
		const struct ada_event *event;
		bool known;

		for (uint64_t at = thread->events ? atf_thread_lower_bound(thread->events, from_ns) : 0;
		     thread->events && (event = atf_thread_get(thread->events, at)) && event->timestamp_ns <= to_ns; at++) {
			uint32_t kind = event->event_kind;
			uint64_t function = event->function_id;

			if (!ada_cause_pay(reader, 1) || kind == ADA_EVENT_LOST)
				return false;
			if ((kind == ADA_EVENT_CALL || kind == ADA_EVENT_RETURN) &&
			    ada_cause_changes_descriptor(thread, at, ada_cause_does(reader, process, function), link->object, &known))
				return false;
		}
	}
	return true;
}

static char *copy_of(const char *text)
{
	return text ? strdup(text) : NULL;
}

/* By the first look behind the wait's beginning, else by the last before it. */
static void take_noted(struct ada_cause_reader *reader, struct ada_cause_link *link)
{
	const struct ada_noted *noted = ada_cause_noted(reader, link->thread->process);
	size_t next = noted ? ada_array_below(&noted->looks, start_ns, link->wait_start_ns) : 0;
	const json_object *found = NULL;
	uint64_t budget = reader->budget, start_ns = link->wait_start_ns;

	reader->budget = NOTED_EVENTS;
	for (size_t n = 0; noted && !found && n < 2; n++) {
		const struct ada_noted_look *look = next - n < noted->looks.count ? &noted->looks.items[next - n] : NULL;

		found = look ? ada_noted_at(noted, look, link->object) : NULL;
		if (found && !stays(reader, link, look->start_ns < start_ns ? look->start_ns : start_ns,
				    look->end_ns > start_ns ? look->end_ns : start_ns))
			found = NULL;
		link->noted_ns = found ? look->start_ns : 0;
	}
	reader->budget = budget;
	if (!found)
		return;
	link->noted = ada_noted_text(noted, found);
	link->opened = copy_of(ada_json_text(found, "path", NULL));
	link->peer = copy_of(ada_json_text(found, "peer", NULL));
	link->connected = ada_json_length(ada_json_get(found, "ends"));
	link->counter |= !strcmp(ada_json_text(found, "name", ""), "[eventfd]");
}

/* As calls say. */
static void find_opened(struct ada_cause_reader *reader, struct ada_cause_link *link, enum ada_does does)
{
	struct change last;

	link->counter = does == ADA_DOES_COUNTER_WAIT;
	if (does == ADA_DOES_CONNECT) /* it says itself where to */
		link->peer = peer_of(link->thread, link->wait_position);
	else if (!find_last_change(reader, link, ada_cause_changes_descriptor, link->object, link->wait_start_ns, &last) || !last.known)
		return;
	else if (last.does == ADA_DOES_MAKE_COUNTER)
		link->counter = true;
	else if (last.does == ADA_DOES_CONNECT)
		link->peer = peer_of(last.thread, last.position);
	else
		link->opened = path_of(&last);
}

void ada_cause_descriptor(struct ada_cause_reader *reader, struct ada_cause_link *link, enum ada_does does)
{
	find_opened(reader, link, does);
	if (!link->counter && !link->opened && !link->peer && does != ADA_DOES_CONNECT)
		take_noted(reader, link);
	link->connected |= link->peer != NULL;
}

bool ada_cause_waits_on(struct ada_cause_reader *reader, const struct ada_thread *thread, uint64_t position, uint64_t now_ns,
			struct ada_cause_link *link)
{
	const struct ada_event call = *atf_thread_get(thread->events, position);
	enum ada_does does = ada_cause_does(reader, thread->process, call.function_id);

	*link = (struct ada_cause_link){ .thread = thread,
					 .kind = ada_does_wait(does),
					 .wait_position = position,
					 .wait_function_id = call.function_id,
					 .wait_start_ns = call.timestamp_ns,
					 .wait_end_ns = now_ns,
					 .wait_open = true };
	link->has_object = ada_does_to_descriptor(does) && ada_cause_object(thread, position, does, 0, &link->object);
	if (link->has_object)
		ada_cause_descriptor(reader, link, does);
	return link->has_object;
}

/* --- children ------------------------------------------------------------------------------------------------------------ */

/* Whether another program was executed in that process behind it. */
static bool was_replaced(const struct ada_session *session, const struct ada_process *process)
{
	uint64_t start_ns = ada_json_u64(process->manifest, "startNs", 0);

	for (size_t i = 0; i < session->processes.count; i++) {
		const struct ada_process *other = session->processes.items[i];

		if (other != process && other->pid == process->pid && ada_json_u64(other->manifest, "startNs", 0) > start_ns)
			return true;
	}
	return false;
}

/* The one that the wait's result names, else the only one that had its last event meanwhile. */
static void find_ended_child(const struct ada_cause_reader *reader, struct ada_cause_link *link)
{
	const struct ada_process *found = NULL;
	uint32_t waited_for = ada_cause_result(link->thread, link->wait_position);
	size_t count = 0;

	for (size_t i = 0; i < reader->session->processes.count; i++) {
		const struct ada_process *process = reader->session->processes.items[i];
		uint64_t last_ns = ada_session_last_ns(reader->session, process->first_thread, process->thread_count);

		if (process == link->thread->process || ada_json_u64(process->manifest, "parentPid", 0) != link->thread->process->pid ||
		    last_ns < link->wait_start_ns || last_ns > link->wait_end_ns || was_replaced(reader->session, process))
			continue;
		if (process->pid == waited_for) {
			link->child = process;
			return;
		}
		found = process;
		count++;
	}
	link->child = count == 1 ? found : NULL;
}

/* Whether the process is the shell that system and popen run a command in. */
static bool runs_command(const struct ada_process *process, const char *command, bool cut)
{
	const json_object *words = ada_json_get(process->manifest, "command");
	size_t count = ada_json_length(words);
	const char *last = count < 3 ? NULL : json_object_get_string(json_object_array_get_idx(words, count - 1));

	if (!last || strcmp(json_object_get_string(json_object_array_get_idx(words, 1)), "-c"))
		return false;
	return cut ? !strncmp(last, command, strlen(command)) : !strcmp(last, command);
}

/* The only child that runs the command and began since then, up to the wait's end. */
static const struct ada_process *find_shell(const struct ada_cause_reader *reader, const struct ada_cause_link *link, uint64_t since_ns,
					    bool cut)
{
	const struct ada_process *found = NULL;
	size_t count = 0;

	for (size_t i = 0; i < reader->session->processes.count; i++) {
		const struct ada_process *process = reader->session->processes.items[i];
		uint64_t start_ns = ada_json_u64(process->manifest, "startNs", 0);

		if (ada_json_u64(process->manifest, "parentPid", 0) != link->thread->process->pid || start_ns < since_ns ||
		    start_ns > link->wait_end_ns || !runs_command(process, link->command, cut))
			continue;
		found = process;
		count++;
	}
	return count == 1 ? found : NULL;
}

void ada_cause_child(struct ada_cause_reader *reader, struct ada_cause_link *link, enum ada_does does)
{
	struct change opened = { .thread = link->thread };
	enum ada_does to_stream = does == ADA_DOES_CLOSE_COMMAND ? ADA_DOES_STREAM_1 : does;
	uint64_t position = link->wait_position, stream;
	bool cut = false;

	if (does == ADA_DOES_CHILD) {
		find_ended_child(reader, link);
		return;
	}
	if (does != ADA_DOES_COMMAND) {
		if (!ada_cause_object(link->thread, link->wait_position, to_stream, 0, &stream) ||
		    !find_last_change(reader, link, changes_stream, stream, link->wait_start_ns, &opened) || !opened.known)
			return;
		position = call_of(&opened);
	}
	link->command = captured_string(opened.thread, position, 1, &cut);
	if (link->command)
		link->child = find_shell(reader, link, atf_thread_get(opened.thread->events, position)->timestamp_ns, cut);
}
