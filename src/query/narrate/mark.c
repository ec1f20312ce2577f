/* What triggered a window: its marks. */
#include <stdlib.h>
#include <string.h>
#include "base/units.h"
#include "query/narrate/parts.h"
#include "query/session/windows.h"
#include "query/values/arguments.h"

static const json_object *marks_of(const struct ada_recorded_window *window)
{
	return ada_json_get(window->entry, "marks");
}

bool ada_narrate_place(const struct ada_story *story, uint64_t number, uint64_t mark, struct ada_mark_place *place)
{
	const struct ada_recorded_window *window = &story->session->windows.items[number];

	*place = (struct ada_mark_place){ .window = window, .number = number, .mark = mark };
	if (mark >= ada_json_length(marks_of(window)))
		return false;
	place->entry = json_object_array_get_idx(marks_of(window), mark);
	place->ns = ada_json_u64(place->entry, "tsNs", ada_json_u64(window->entry, "markedNs", window->start_ns));
	ada_mark_event(window->process, place->entry, &place->thread, &place->position);
	/* What a rule says about an event names its function; a signal or crash names the last event before it. */
	place->has_function = place->thread && json_object_is_type(ada_json_get(place->entry, "functionId"), json_type_int) &&
			      atf_thread_get(place->thread->events, place->position)->function_id ==
				      ada_json_u64(place->entry, "functionId", 0);
	return true;
}

/* --- one mark ----------------------------------------------------------------------------------------------------------- */

static bool kind_is(const char *kind, const char *word)
{
	size_t length = strlen(word);

	return !strncmp(kind, word, length) && (!kind[length] || strchr(":<>=%", kind[length]));
}

/* The rules that the event fitted, as `ada trigger list` has them; the mark itself names the first alone. */
static void put_kinds(FILE *stream, const struct ada_mark_place *place, const char *none)
{
	const json_object *rules = ada_json_get(place->entry, "rules");
	const json_object *policy = ada_json_get(ada_json_get(place->window->process->manifest, "marking_policy"), "rules");
	const char *kinds[ADA_RULES_TOLD] = { ada_json_text(place->entry, "kind", none) };
	size_t count = 1;

	for (size_t i = 0; i < ada_json_length(rules) && count < ADA_RULES_TOLD; i++) {
		uint64_t id = json_object_get_uint64(json_object_array_get_idx(rules, i));

		for (size_t j = 0; j < ada_json_length(policy) && count < ADA_RULES_TOLD; j++) {
			const json_object *rule = json_object_array_get_idx(policy, j);
			const char *kind = ada_json_text(rule, "kind", NULL);

			if (kind && ada_json_u64(rule, "id", UINT64_MAX) == id && strcmp(kind, kinds[0]))
				kinds[count++] = kind;
		}
	}
	for (size_t i = 0; i < count; i++)
		fprintf(stream, "%s%s", !i ? "" : i + 1 == count ? " and " : ", ", kinds[i]);
}

/* What the rule compared, where the sentence has not said it already. */
static void put_value(FILE *stream, const struct ada_mark_place *place)
{
	const char *kind = ada_json_text(place->entry, "kind", "");
	json_object *value = ada_json_get(place->entry, "value");
	char text[ADA_UNITS_TEXT], name[ADA_WORDS];
	double number;

	if (!json_object_is_type(value, json_type_int) && !json_object_is_type(value, json_type_double))
		return;
	number = json_object_get_double(value);
	if (!(number > -1e9 && number < 1e9) && (kind_is(kind, "crash") || kind_is(kind, "signal") || kind_is(kind, "exit")))
		return;
	if (kind_is(kind, "crash") || kind_is(kind, "signal"))
		fprintf(stream, " (%s)", ada_words_signal((int)number, name));
	else if (kind_is(kind, "exit"))
		fprintf(stream, " (exit status %d)", (int)number);
	else if (number >= 0 && number < 1e18 &&
		 (kind_is(kind, "latency") || kind_is(kind, "cpu:function") || (kind[0] == 'p' && kind[1] >= '0' && kind[1] <= '9')))
		fprintf(stream, " (%s)", ada_format_duration((uint64_t)number, text));
	else if (kind_is(kind, "return") || kind_is(kind, "arg") || kind_is(kind, "memory") || kind_is(kind, "cpu"))
		fprintf(stream, " (value %s)", json_object_get_string(value));
}

/* "leaf(x=3)" of a CALL, "leaf = -1" of a RETURN, as far as there is detail; else the name. */
static void put_call(struct ada_story *story, FILE *stream, const struct ada_thread *thread, uint64_t position)
{
	const struct ada_event *event = atf_thread_get(thread->events, position);
	struct ada_arguments arguments = {};
	char name[ADA_WORDS_NAME], *text = NULL;
	struct atf_detail record;

	if (!ada_thread_detail(thread, position, &record) && !ada_arguments_decode(&arguments, thread, &record) && arguments.items.count)
		text = ada_arguments_text(&arguments);
	ada_words_source(story, thread->process, event->function_id, name);
	if (text && *text == '=')
		fprintf(stream, "%s %s", name, text);
	else if (text)
		fputs(text, stream);
	else
		fputs(name, stream);
	free(text);
	ada_arguments_free(&arguments);
}

/* The CALL that an end belongs to: the innermost open call right before it, if function and depth are the same. */
static bool find_call(struct ada_story *story, const struct ada_thread *thread, uint64_t position, uint64_t *call)
{
	const struct ada_event *event = atf_thread_get(thread->events, position);
	struct ada_stack stack;
	bool found = false;

	if (ada_narrate_stack(story, &stack, thread, position))
		return false;
	for (size_t i = stack.frames.count; i-- > 0 && !found;)
		if (stack.frames.items[i].depth == event->call_depth && stack.frames.items[i].function_id == event->function_id) {
			*call = stack.frames.items[i].position;
			found = true;
		}
	ada_stack_close(&stack);
	return found;
}

static bool has_arguments(const struct ada_thread *thread, uint64_t position)
{
	struct ada_arguments arguments = {};
	struct atf_detail record;
	bool known = !ada_thread_detail(thread, position, &record) && !ada_arguments_decode(&arguments, thread, &record) &&
		     arguments.items.count;

	ada_arguments_free(&arguments);
	return known;
}

static void put_event(struct ada_story *story, FILE *stream, const struct ada_mark_place *place, uint64_t *call)
{
	const struct ada_thread *thread = place->thread;
	const struct ada_event *event = atf_thread_get(thread->events, place->position);
	char duration[ADA_UNITS_TEXT];

	fprintf(stream, "thread %u ", thread->number);
	if (event->event_kind == ADA_EVENT_CALL) {
		fputs("called ", stream);
		put_call(story, stream, thread, place->position);
		return;
	}
	fputs(event->event_kind == ADA_EVENT_EXCEPTION ? "left " : "returned from ", stream);
	put_call(story, stream, thread, place->position);
	if (event->event_kind == ADA_EVENT_EXCEPTION)
		fputs(" by an exception or jump", stream);
	if (!find_call(story, thread, place->position, call) || ada_narrate_lost_between(story, thread, *call, place->position))
		return;
	fprintf(stream, " after %s",
		ada_format_duration(event->timestamp_ns - atf_thread_get(thread->events, *call)->timestamp_ns, duration));
	if (has_arguments(thread, *call)) {
		fputs(" (called as ", stream);
		put_call(story, stream, thread, *call);
		fputs(")", stream);
	}
}

/* Cites what each thread had last done at a mark that is no event of a thread. */
static void cite_around(struct ada_story *story, const struct ada_mark_place *place)
{
	const struct ada_process *process = place->window->process;

	for (size_t i = 0; i < process->thread_count && place->ns != UINT64_MAX; i++) {
		const struct ada_thread *thread = &story->session->threads.items[process->first_thread + i];
		uint64_t position = thread->events ? atf_thread_lower_bound(thread->events, place->ns + 1) : 0;

		if (position && ada_narrate_selects_thread(story, thread))
			ada_narrate_cite(story, thread, position - 1, position - 1);
	}
}

void ada_narrate_mark(struct ada_story *story, const struct ada_mark_place *place)
{
	const char *kind = ada_json_text(place->entry, "kind", NULL), *label = ada_json_text(place->entry, "label", NULL);
	uint64_t call = UINT64_MAX;
	struct ada_telling telling;
	char time[ADA_WORDS];

	if (!ada_telling_open(story, &telling))
		return;
	fprintf(telling.stream, "At %s ", ada_words_time(story, place->ns, time));
	if (place->has_function)
		put_event(story, telling.stream, place, &call);
	else if (kind && kind_is(kind, "manual"))
		fputs("the recording was marked by hand", telling.stream);
	else {
		put_kinds(telling.stream, place, "something");
		fputs(" marked", telling.stream);
	}
	if (!place->has_function && place->thread)
		fprintf(telling.stream, " thread %u", place->thread->number);
	if (place->has_function) {
		fputs(", which ", telling.stream);
		put_kinds(telling.stream, place, "a rule");
		fputs(" marked", telling.stream);
	}
	if (!kind || !kind_is(kind, "latency") || call == UINT64_MAX) /* its value is the duration, which was said */
		put_value(telling.stream, place);
	if (label)
		fprintf(telling.stream, ", labelled \"%s\"", label);
	fputs(".", telling.stream);
	ada_telling_say(story, "trigger", &telling);
	if (call != UINT64_MAX)
		ada_narrate_cite(story, place->thread, call, call);
	if (place->thread)
		ada_narrate_cite(story, place->thread, place->position, place->position);
	else
		cite_around(story, place);
	ada_narrate_cite_file(story, place->window->process, "manifest.json", "detail_lane.windows[%u].marks[%llu]", place->window->id,
			      (unsigned long long)place->mark);
}
