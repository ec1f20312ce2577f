/* An exception that couldn't leave a noexcept function: the calls within that were left, and what the runtime did then was to abort. An
 * exception that has no handler at all leaves nothing: its __cxa_throw is still open. */
#include <signal.h>
#include <string.h>
#include "query/crash/internal.h"

#define EVENTS_READ (1ull << 16) /* back to where it was thrown */

static bool is_end(const struct ada_event *event)
{
	return event->event_kind == ADA_EVENT_EXCEPTION;
}

/* What the runtime calls itself on its way, and what isn't a call at all. */
static bool is_runtimes(const struct ada_event *event, const char *symbol)
{
	return (event->event_kind != ADA_EVENT_CALL && event->event_kind != ADA_EVENT_RETURN && !is_end(event)) ||
	       (!is_end(event) && !strncmp(symbol, "pthread_", strlen("pthread_")));
}

static const char *symbol_of(const struct ada_crash_cause *cause, const struct ada_event *event)
{
	bool named = event->event_kind == ADA_EVENT_CALL || event->event_kind == ADA_EVENT_RETURN || is_end(event);

	return named ? ada_crash_symbol(cause->process, event->function_id) : "";
}

/* The event that left the frame's own call by an exception, with nothing of the program behind it. */
static bool find_left(const struct ada_crash_cause *cause, const struct ada_frame *frame, uint64_t *at)
{
	for (*at = cause->end; (*at)-- > frame->position + 1;) {
		const struct ada_event *event = atf_thread_get(cause->thread->events, *at);

		if (is_end(event))
			return event->call_depth == frame->depth + 1;
		if (!is_runtimes(event, symbol_of(cause, event)))
			return false;
	}
	return false;
}

/* The call that threw it: back from there to the throw's end, then to its beginning. False: it was caught, or isn't there. */
static bool find_throw(const struct ada_crash_cause *cause, const struct ada_frame *frame, uint64_t at, uint64_t *thrown)
{
	uint64_t first = at > frame->position + EVENTS_READ ? at - EVENTS_READ : frame->position;
	const struct ada_event *end = NULL;

	for (at++; at-- > first + 1;) {
		const struct ada_event *event = atf_thread_get(cause->thread->events, at);
		const char *symbol = symbol_of(cause, event);

		if (!strcmp(symbol, "__cxa_begin_catch"))
			return false;
		if (!end && is_end(event) && ada_crash_throws(symbol))
			end = event;
		else if (end && event->event_kind == ADA_EVENT_CALL && event->function_id == end->function_id &&
			 event->call_depth == end->call_depth) {
			*thrown = at;
			return true;
		}
	}
	return false;
}

int ada_crash_stopped(struct ada_crash_cause *cause)
{
	size_t count = cause->path.frames.count;
	const struct ada_frame *frame;
	uint64_t left, thrown;
	int result;

	if (cause->signal != SIGABRT || !cause->recorded || !count)
		return 0;
	frame = &cause->path.frames.items[count - 1];
	if (!find_left(cause, frame, &left) || !find_throw(cause, frame, left, &thrown))
		return 0;
	result = ada_crash_read_throw(cause, cause->thread, thrown);
	if (result)
		return result;
	cause->kind = ADA_CRASH_NOEXCEPT;
	cause->culprit = cause->thread;
	cause->culprit_position = thrown;
	cause->culprit_ns = atf_thread_get(cause->thread->events, thrown)->timestamp_ns;
	result = ada_stack_at(&cause->culprit_path, cause->thread, thrown);
	ada_crash_leave_library(cause->process, &cause->culprit_path);
	if (cause->culprit_path.frames.count)
		cause->culprit_function_id = cause->culprit_path.frames.items[cause->culprit_path.frames.count - 1].function_id;
	return result;
}
