/* The marks of a window: the first ones and the first of each rule, and what surrounds the latter. */
#include <string.h>
#include "query/narrate/parts.h"

#define MARKS_TOLD 4 /* of a window, and further ones whose rules are new */

void ada_narrate_cite_window(struct ada_story *story, const struct ada_recorded_window *window)
{
	const struct ada_process *process = window->process;
	uint64_t first, end;

	for (size_t i = 0; i < process->thread_count; i++) {
		const struct ada_thread *thread = &story->session->threads.items[process->first_thread + i];

		if (ada_narrate_range(story, thread, window, &first, &end))
			ada_narrate_cite(story, thread, first, end - 1);
	}
}

bool ada_narrate_holds_crash(const struct ada_story *story, uint64_t number)
{
	const struct ada_recorded_window *window = &story->session->windows.items[number];
	const json_object *crash = ada_json_get(window->process->manifest, "crash"), *kinds = ada_json_get(window->entry, "triggerKinds");
	uint64_t ns = ada_json_u64(crash, "timestampNs", UINT64_MAX);

	/* Where no handler could run there is no record of the crash: then the recorder has marked it. */
	for (size_t i = 0; !crash && i < ada_json_length(kinds); i++) {
		const char *kind = json_object_get_string(json_object_array_get_idx(kinds, i));

		if (kind && !strcmp(kind, "crash"))
			return true;
	}
	return ns >= window->start_ns && ns <= window->end_ns;
}

/* Whether a rule of the mark is new; afterwards all its rules are known. The window's first mark always counts as new. */
static bool has_new_rule(struct ada_first_marks *firsts, const json_object *mark)
{
	const json_object *rules = ada_json_get(mark, "rules");
	bool new = !firsts->count;

	for (size_t i = 0; i < ada_json_length(rules); i++) {
		uint64_t rule = json_object_get_uint64(json_object_array_get_idx(rules, i));
		size_t j = 0;

		while (j < firsts->rule_count && firsts->rules[j] != rule)
			j++;
		if (j < firsts->rule_count || j == ADA_RULES_TOLD)
			continue;
		firsts->rules[firsts->rule_count++] = rule;
		new = true;
	}
	return new;
}

/* Whether only the mark's own thread has done anything since the moment told last. */
static bool others_stand_still(const struct ada_story *story, const struct ada_mark_place *place, uint64_t told_ns)
{
	const struct ada_process *process = place->window->process;

	for (size_t i = 0; i < process->thread_count; i++) {
		const struct ada_thread *thread = &story->session->threads.items[process->first_thread + i];

		if (thread != place->thread && thread->events &&
		    atf_thread_lower_bound(thread->events, told_ns + 1) != atf_thread_lower_bound(thread->events, place->ns + 1))
			return false;
	}
	return true;
}

static void tell_surroundings(struct ada_story *story, const struct ada_mark_place *place, struct ada_first_marks *firsts)
{
	/* The crash in the window is told in full behind everything else. */
	if (firsts->count && !strcmp(ada_json_text(place->entry, "kind", ""), "crash") && ada_narrate_holds_crash(story, place->number))
		return;
	firsts->places[firsts->count++] = *place;
	ada_narrate_path(story, place);
	if (firsts->told_ns && others_stand_still(story, place, firsts->told_ns))
		return;
	ada_narrate_others(story, place->window->process, place->thread, place->ns, true);
	firsts->told_ns = place->ns;
}

bool ada_first_marks_same_thread(const struct ada_first_marks *firsts, size_t number)
{
	for (size_t i = 0; i < number; i++)
		if (firsts->places[i].thread == firsts->places[number].thread)
			return true;
	return false;
}

/* Whether the manifest has a mark of the rule: then the rule's first mark is told. */
static bool is_named(const struct ada_recorded_window *window, const struct ada_first_marks *firsts, const char *kind)
{
	const json_object *marks = ada_json_get(window->entry, "marks");
	const json_object *policy = ada_json_get(ada_json_get(window->process->manifest, "marking_policy"), "rules");

	for (size_t i = 0; i < ada_json_length(marks); i++)
		if (!strcmp(ada_json_text(json_object_array_get_idx(marks, i), "kind", ""), kind))
			return true;
	for (size_t i = 0; i < ada_json_length(policy); i++) {
		const json_object *rule = json_object_array_get_idx(policy, i);

		for (size_t j = 0; j < firsts->rule_count && !strcmp(ada_json_text(rule, "kind", ""), kind); j++)
			if (firsts->rules[j] == ada_json_u64(rule, "id", UINT64_MAX))
				return true;
	}
	return false;
}

/* Where the manifest lists only the first of many marks, all marks of a rule may be among those left out. */
static void tell_more(struct ada_story *story, const struct ada_recorded_window *window, const struct ada_first_marks *firsts,
		      uint64_t more)
{
	const json_object *kinds = ada_json_get(window->entry, "triggerKinds");
	struct ada_telling telling;
	char text[ADA_WORDS];
	size_t named = 0;

	if (!ada_telling_open(story, &telling))
		return;
	fprintf(telling.stream, "%s more mark%s in this window", ada_format_grouped(more, text), more == 1 ? " lies" : "s lie");
	for (size_t i = 0; i < ada_json_length(kinds); i++) {
		const char *kind = json_object_get_string(json_object_array_get_idx(kinds, i));

		if (kind && !is_named(window, firsts, kind))
			fprintf(telling.stream, "%s%s", named++ ? ", " : ", also of ", kind);
	}
	fputs(".", telling.stream);
	ada_telling_say(story, "trigger-more", &telling);
	ada_narrate_cite_file(story, window->process, "manifest.json", "detail_lane.windows[%u].marks", window->id);
	if (named)
		ada_narrate_cite_file(story, window->process, "manifest.json", "detail_lane.windows[%u].triggerKinds", window->id);
	ada_narrate_cite_window(story, window);
}

void ada_narrate_marks(struct ada_story *story, uint64_t number, struct ada_first_marks *firsts)
{
	const struct ada_recorded_window *window = &story->session->windows.items[number];
	uint64_t count = ada_json_length(ada_json_get(window->entry, "marks")), told = 0;
	uint64_t all = window->marked_count > count ? window->marked_count : count;
	struct ada_mark_place place;

	for (uint64_t mark = 0; ada_narrate_place(story, number, mark, &place); mark++) {
		bool first = firsts->count < ADA_RULES_TOLD && has_new_rule(firsts, place.entry);

		if (mark >= MARKS_TOLD && !first)
			continue;
		told++;
		ada_narrate_mark(story, &place);
		if (first)
			tell_surroundings(story, &place, firsts);
	}
	if (all > told)
		tell_more(story, window, firsts, all - told);
	if (!all) {
		ada_narrate_say(story, "trigger", "Nothing marked it.");
		ada_narrate_cite_file(story, window->process, "manifest.json", "detail_lane.windows[%u].marks", window->id);
	}
}
