/* Exceptions that were thrown once more, by `throw;` or std::rethrow_exception, and those that others are nested in: where they came from.
 *
 * A handler caught what was thrown last before it and no handler in between took. `throw;` throws what the innermost open handler caught.
 * std::rethrow_exception's argument leads to the object: whoever caught that last, or std::make_exception_ptr, which made it, says what it
 * is; memory is used anew, so that what was thrown at the same address before counts for nothing. */
#include <stdlib.h>
#include <string.h>
#include "query/crash/internal.h"
#include "query/session/windows.h"

#define LOOK_BACK (1u << 18) /* events, of each thread */
#define TIMES_MAX 1000	     /* that one exception is thrown once more */
#define MAKES "__cxa_init_primary_exception"
#define HEADER_BYTES 32 /* of an exception, in front of what is thrown: __cxa_begin_catch has the header's address */

struct place {
	const struct ada_thread *thread;
	uint64_t position;
};

static bool is_kept(const char *symbol)
{
	return !strcmp(symbol, "_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE");
}

bool ada_crash_rethrows(const char *symbol)
{
	return !strcmp(symbol, "__cxa_rethrow") || is_kept(symbol);
}

static const char *called(const struct ada_thread *thread, uint64_t position)
{
	const struct ada_event *event = atf_thread_get(thread->events, position);

	return event->event_kind == ADA_EVENT_CALL ? ada_crash_symbol(thread->process, event->function_id) : "";
}

static uint64_t first_asked(uint64_t position)
{
	return position > LOOK_BACK ? position - LOOK_BACK : 0;
}

/* Moves back to the beginning of the innermost handler that is open there. False: not recorded. */
static bool find_handler(struct place *at)
{
	uint64_t first = first_asked(at->position), ended = 0;

	while (at->position-- > first) {
		const char *symbol = called(at->thread, at->position);

		if (!strcmp(symbol, "__cxa_end_catch"))
			ended++;
		else if (!strcmp(symbol, "__cxa_begin_catch") && !ended--)
			return true;
	}
	return false;
}

/* Moves back from a handler's beginning to what threw what it caught. */
static bool find_caught(struct place *at)
{
	uint64_t first = first_asked(at->position), others = 0, object;
	struct atf_detail record;

	if (ada_thread_detail(at->thread, at->position, &record))
		return false;
	object = record.x[0] + HEADER_BYTES;
	while (at->position-- > first) {
		const char *symbol = called(at->thread, at->position);

		if (!strcmp(symbol, "__cxa_begin_catch"))
			others++;
		else if ((ada_crash_throws(symbol) || ada_crash_rethrows(symbol)) && !others--)
			return strcmp(symbol, "__cxa_throw") ||
			       (!ada_thread_detail(at->thread, at->position, &record) && record.x[0] == object);
	}
	return false;
}

/* Whether the event says whose object that is. */
static bool is_about(const struct ada_thread *thread, uint64_t position, uint64_t object)
{
	const char *symbol = called(thread, position);
	bool caught = !strcmp(symbol, "__cxa_begin_catch");
	struct atf_detail record;

	return (caught || !strcmp(symbol, MAKES)) && !ada_thread_detail(thread, position, &record) &&
	       record.x[0] + (caught ? HEADER_BYTES : 0) == object;
}

/* Moves to the last such event of all threads. */
static bool find_object(struct place *at, uint64_t object)
{
	const struct ada_process *process = at->thread->process;
	uint64_t before = atf_thread_get(at->thread->events, at->position)->timestamp_ns, last_ns = 0;
	struct place last = {};

	for (size_t i = 0; i < process->thread_count; i++) {
		const struct ada_thread *thread = &process->session->threads.items[process->first_thread + i];
		uint64_t end = thread == at->thread ? at->position : thread->events ? atf_thread_lower_bound(thread->events, before) : 0;
		uint64_t first = first_asked(end);

		while (end-- > first && atf_thread_get(thread->events, end)->timestamp_ns >= last_ns)
			if (is_about(thread, end, object)) {
				last = (struct place){ thread, end };
				last_ns = atf_thread_get(thread->events, end)->timestamp_ns;
				break;
			}
	}
	*at = last;
	return last.thread;
}

/* The object that std::rethrow_exception's argument holds. */
static bool read_kept(const struct place *at, uint64_t *object)
{
	struct atf_captured kept;
	struct atf_detail record;
	uint32_t place = 0;

	if (ada_thread_detail(at->thread, at->position, &record))
		return false;
	while (atf_detail_captured(&record, &place, &kept))
		if (kept.argument == 1 && kept.length == sizeof *object && !(kept.flags & (ATF_CAPTURED_BAD | ATF_CAPTURED_STRING))) {
			memcpy(object, kept.bytes, sizeof *object);
			return true;
		}
	return false;
}

/* Moves from where it was thrown once more to where it was thrown before, or made. */
static bool step_back(struct place *at)
{
	uint64_t object;

	if (!is_kept(called(at->thread, at->position)))
		return find_handler(at) && find_caught(at);
	return read_kept(at, &object) && find_object(at, object) &&
	       (strcmp(called(at->thread, at->position), "__cxa_begin_catch") || find_caught(at));
}

int ada_crash_read_rethrown(struct ada_crash_cause *cause, const struct ada_thread *thread, uint64_t position)
{
	struct place at = { thread, position };
	int result;

	cause->kind = ADA_CRASH_EXCEPTION;
	cause->is_rethrown = true;
	for (int i = 0; ada_crash_rethrows(called(at.thread, at.position)); i++)
		if (i == TIMES_MAX || !step_back(&at))
			return 0;
	cause->is_made = !strcmp(called(at.thread, at.position), MAKES);
	cause->culprit = at.thread;
	cause->culprit_position = at.position;
	cause->culprit_ns = atf_thread_get(at.thread->events, at.position)->timestamp_ns;
	result = ada_stack_at(&cause->culprit_path, at.thread, at.position);
	ada_crash_leave_library(cause->process, &cause->culprit_path);
	if (cause->culprit_path.frames.count)
		cause->culprit_function_id = cause->culprit_path.frames.items[cause->culprit_path.frames.count - 1].function_id;
	else
		cause->culprit = NULL;
	return result ? result : ada_crash_read_throw(cause, at.thread, at.position);
}

int ada_crash_read_nested(struct ada_crash_cause *cause, const struct ada_thread *thread, uint64_t position)
{
	struct ada_crash_cause inner = { .process = cause->process, .ns = cause->ns };
	struct place at = { thread, position };
	int result = find_handler(&at) && find_caught(&at) ? ada_crash_read_throw(&inner, at.thread, at.position) : 0;

	if (!result && inner.type) {
		cause->nested_type = inner.type;
		cause->nested_text = inner.is_what ? inner.text : NULL;
		inner.type = NULL;
		inner.text = inner.is_what ? NULL : inner.text;
	}
	ada_crash_free(&inner);
	return result;
}
