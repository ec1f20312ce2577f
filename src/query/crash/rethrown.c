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

/* Whose object that is, says the last of these events of all threads. */
enum tells { TELLS_NOTHING, TELLS_CAUGHT, TELLS_MADE };

struct search {
	uint64_t object, last_ns;
	struct place last;
};

static unsigned int sort_of(const char *symbol)
{
	if (!strcmp(symbol, "__cxa_begin_catch"))
		return TELLS_CAUGHT;
	return strcmp(symbol, MAKES) ? TELLS_NOTHING : TELLS_MADE;
}

static void see(void *context, const struct ada_thread *thread, uint64_t position, unsigned int sort)
{
	const struct ada_event *event = atf_thread_get(thread->events, position);
	struct search *search = context;
	struct atf_detail record;

	if (event->event_kind != ADA_EVENT_CALL || search->last.thread == thread || event->timestamp_ns < search->last_ns)
		return;
	if (!ada_thread_detail(thread, position, &record) && record.x[0] + (sort == TELLS_CAUGHT ? HEADER_BYTES : 0) == search->object) {
		search->last = (struct place){ thread, position };
		search->last_ns = event->timestamp_ns;
	}
}

static bool is_answered(const void *context)
{
	return ((const struct search *)context)->last.thread;
}

/* Moves to there. 0, -ENOMEM, or -EINTR once ada_interrupted(). */
static int find_object(struct place *at, uint64_t object, bool *found)
{
	struct search search = { .object = object };
	struct ada_crash_back back = { .process = at->thread->process,
				       .until_ns = atf_thread_get(at->thread->events, at->position)->timestamp_ns,
				       .own = at->thread,
				       .own_end = at->position,
				       .sort = sort_of,
				       .see = see,
				       .is_answered = is_answered,
				       .context = &search };
	uint64_t read_ns;
	int result = ada_crash_read_back(&back, &read_ns);

	*found = !result && search.last.thread && search.last_ns >= read_ns;
	*at = search.last;
	return result;
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

/* Moves from where it was thrown once more to where it was thrown before, or made. As find_object. */
static int step_back(struct place *at, bool *found)
{
	uint64_t object;
	int result;

	*found = false;
	if (!is_kept(called(at->thread, at->position))) {
		*found = find_handler(at) && find_caught(at);
		return 0;
	}
	if (!read_kept(at, &object))
		return 0;
	result = find_object(at, object, found);
	if (*found && !strcmp(called(at->thread, at->position), "__cxa_begin_catch"))
		*found = find_caught(at);
	return result;
}

int ada_crash_read_rethrown(struct ada_crash_cause *cause, const struct ada_thread *thread, uint64_t position)
{
	struct place at = { thread, position };
	bool found = true;
	int result;

	cause->kind = ADA_CRASH_EXCEPTION;
	cause->is_rethrown = true;
	for (int i = 0; ada_crash_rethrows(called(at.thread, at.position)); i++) {
		result = i < TIMES_MAX ? step_back(&at, &found) : 0;
		if (result || i == TIMES_MAX || !found)
			return result;
	}
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
