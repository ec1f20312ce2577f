/* What came after a mark on its thread, up to the end of the window. */
#include <errno.h>
#include "base/units.h"
#include "query/calls/calls.h"
#include "query/narrate/parts.h"

#define CALLS_TOLD 4
#define RELEASE_EVENTS (1u << 18)

struct after {
	const struct ada_mark_place *place;
	bool later;	/* later than the window's first mark */
	uint32_t depth; /* of the marked event */
	bool ended;	/* the marked call, if a CALL was marked */
	struct ada_call marked;
	ADA_ARRAY(struct ada_call) next; /* calls behind it at its depth or above: the first CALLS_TOLD */
	uint64_t next_count, exceptions;
	uint64_t last_next;	  /* the last of them begun */
	uint64_t first_exception; /* position */
};

static bool marks_call(const struct after *after)
{
	return after->place->has_function &&
	       atf_thread_get(after->place->thread->events, after->place->position)->event_kind == ADA_EVENT_CALL;
}

static void call_take(void *context, const struct ada_call *call)
{
	struct after *after = context;

	if (call->across_loss)
		return;
	if (call->outcome == ADA_OUTCOME_EXCEPTION && call->end_position > after->place->position) {
		if (!after->exceptions || call->end_position < after->first_exception)
			after->first_exception = call->end_position;
		after->exceptions++;
	}
	if (marks_call(after) && call->position == after->place->position) {
		after->marked = *call;
		after->ended = call->outcome == ADA_OUTCOME_RETURN || call->outcome == ADA_OUTCOME_EXCEPTION;
	}
	for (size_t i = 0; i < after->next.count; i++)
		if (after->next.items[i].position == call->position)
			after->next.items[i] = *call;
}

static void note(void *context, struct ada_call *call)
{
	struct after *after = context;

	if (call->position <= after->place->position || call->depth > after->depth)
		return;
	after->next_count++;
	after->last_next = call->position;
	if (after->next.count < CALLS_TOLD) {
		struct ada_call begun = *call;

		begun.outcome = ADA_OUTCOME_UNKNOWN;
		if (ada_array_push(&after->next, begun))
			after->next_count--;
	}
}

/* Feeds the calls that are open, then the events that follow; false without memory. */
static bool read_on(struct ada_story *story, struct after *after, const struct ada_thread *thread, uint64_t end)
{
	struct ada_calls calls;
	uint64_t kept = after->place->position;
	int result;

	ada_calls_open(&calls, &(struct ada_calls_receiver){ .context = after, .begun = note, .ended = call_take });
	result = ada_narrate_feed_open(story, &calls, thread, after->place->position);
	for (uint64_t position = after->place->position; position < end && !result; position++) {
		if (position - kept > RELEASE_EVENTS) {
			atf_thread_release(thread->events, kept, position);
			kept = position;
		}
		result = ada_calls_feed(&calls, atf_thread_get(thread->events, position), position);
	}
	atf_thread_release(thread->events, kept, end);
	ada_calls_close(&calls); /* what is open stays open: its end is not in the window */
	return !result;
}

static void tell_marked(struct ada_story *story, const struct after *after)
{
	char name[ADA_WORDS_NAME], duration[ADA_UNITS_TEXT];
	const struct ada_thread *thread = after->place->thread;
	const struct ada_event *event = atf_thread_get(thread->events, after->place->position);

	if (!after->ended)
		return;
	ada_narrate_say(story, "followed", "The marked call of %s %s after %s.",
			ada_words_function(story, thread->process, event->function_id, name),
			after->marked.outcome == ADA_OUTCOME_EXCEPTION ? "was left by an exception or jump" : "returned",
			ada_format_duration(after->marked.end_ns - after->marked.start_ns, duration));
	ada_narrate_cite(story, thread, after->marked.position, after->marked.position);
	ada_narrate_cite(story, thread, after->marked.end_position, after->marked.end_position);
}

static void tell_next(struct ada_story *story, const struct after *after)
{
	char name[ADA_WORDS_NAME], duration[ADA_UNITS_TEXT], number[ADA_WORDS], time[ADA_WORDS];
	const struct ada_thread *thread = after->place->thread;
	struct ada_telling telling;

	if (!after->next.count || !ada_telling_open(story, &telling))
		return;
	if (after->later)
		fprintf(telling.stream, "After its mark at %s thread %u called ", ada_words_time(story, after->place->ns, time),
			thread->number);
	else
		fprintf(telling.stream, "Then thread %u called ", thread->number);
	for (size_t i = 0; i < after->next.count; i++) {
		const struct ada_call *call = &after->next.items[i];

		fprintf(telling.stream, "%s%s",
			!i			   ? "" :
			i + 1 == after->next.count ? " and " :
						     ", ",
			ada_words_function(story, thread->process, call->function_id, name));
		if (call->outcome == ADA_OUTCOME_RETURN || call->outcome == ADA_OUTCOME_EXCEPTION)
			fprintf(telling.stream, " (%s%s)", ada_format_duration(call->end_ns - call->start_ns, duration),
				call->outcome == ADA_OUTCOME_EXCEPTION ? ", left by an exception or jump" : "");
		else
			fputs(" (without an end in the window)", telling.stream);
	}
	if (after->next_count > after->next.count)
		fprintf(telling.stream, ", and made %s more call%s no deeper than the marked one by the window's end",
			ada_format_grouped(after->next_count - after->next.count, number),
			ada_words_s(after->next_count - after->next.count));
	fputs(".", telling.stream);
	ada_telling_say(story, "followed", &telling);
	for (size_t i = 0; i < after->next.count; i++) {
		const struct ada_call *call = &after->next.items[i];
		bool ended = call->outcome == ADA_OUTCOME_RETURN || call->outcome == ADA_OUTCOME_EXCEPTION;

		ada_narrate_cite(story, thread, call->position, ended ? call->end_position : call->position);
	}
	if (after->next_count > after->next.count)
		ada_narrate_cite(story, thread, after->next.items[after->next.count - 1].position, after->last_next);
}

static void tell_exceptions(struct ada_story *story, const struct after *after, uint64_t end)
{
	char name[ADA_WORDS_NAME], number[ADA_WORDS];
	const struct ada_thread *thread = after->place->thread;
	const struct ada_event *event;

	if (!after->exceptions)
		return;
	event = atf_thread_get(thread->events, after->first_exception);
	ada_narrate_say(story, "followed", "%s call%s on thread %u ended by an exception or jump by the window's end, first that of %s.",
			ada_format_grouped(after->exceptions, number), ada_words_s(after->exceptions), thread->number,
			ada_words_function(story, thread->process, event->function_id, name));
	ada_narrate_cite(story, thread, after->first_exception, after->exceptions == 1 ? after->first_exception : end - 1);
}

/* Where the thread was when the window ended. */
static void tell_end(struct ada_story *story, const struct after *after, uint64_t end)
{
	const struct ada_thread *thread = after->place->thread;
	char number[ADA_WORDS], time[ADA_WORDS];
	uint64_t behind = end - 1 - after->place->position;
	struct ada_telling telling;
	struct ada_stack stack;

	if (ada_narrate_stack(story, &stack, thread, end))
		return;
	if (ada_telling_open(story, &telling)) {
		if (behind)
			fprintf(telling.stream, "%s event%s follow%s on thread %u in this window, to %s; then ",
				ada_format_grouped(behind, number), ada_words_s(behind), behind == 1 ? "s" : "", thread->number,
				ada_words_time(story, atf_thread_get(thread->events, end - 1)->timestamp_ns, time));
		else
			fprintf(telling.stream, "No event follows on thread %u in this window; ", thread->number);
		if (stack.frames.count) {
			fputs("it was in ", telling.stream);
			ada_words_stack(story, thread, &stack, NULL, telling.stream);
			ada_words_doubt(story, thread, stack.frames.items[0].position, end, telling.stream);
		} else {
			fputs("no call was open", telling.stream);
		}
		fputs(".", telling.stream);
		ada_telling_say(story, "followed", &telling);
		ada_narrate_cite_stack(story, thread, &stack);
		ada_narrate_cite(story, thread, after->place->position, end - 1);
	}
	ada_stack_close(&stack);
}

void ada_narrate_followed(struct ada_story *story, const struct ada_mark_place *place, bool later, bool told)
{
	struct after after = { .place = place, .later = later };
	uint64_t first, end;

	if (!place->thread || !ada_narrate_range(story, place->thread, place->window, &first, &end) || place->position >= end)
		return;
	after.depth = atf_thread_get(place->thread->events, place->position)->call_depth;
	if (read_on(story, &after, place->thread, end)) {
		tell_marked(story, &after);
		tell_next(story, &after);
		if (!told) {
			tell_exceptions(story, &after, end);
			tell_end(story, &after, end);
		}
	} else if (!story->result) {
		story->result = -ENOMEM;
	}
	ada_array_free(&after.next);
}
