/* The windows: which of many have a section of their own, the worst first; what is told of the rest. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "base/units.h"
#include "query/narrate/parts.h"
#include "query/session/windows.h"

#define LIKE_TOLD 3	/* windows of the same trigger with a section of their own */
#define SECTIONS_MAX 20 /* windows with a section of their own; and as many with a crash */
#define CITED_MAX 256

static bool is_selected(const struct ada_story *story, uint64_t number)
{
	const struct ada_recorded_window *window = &story->session->windows.items[number];

	if (story->options.in_window)
		return number == story->options.window;
	return ada_narrate_selects_process(story, window->process) && window->start_ns < story->selection->to_ns &&
	       window->end_ns >= story->selection->from_ns;
}

static const char *kind_of(const struct ada_story *story, uint64_t number)
{
	return ada_json_text(story->session->windows.items[number].entry, "triggerKind", "");
}

/* Windows [i] of `rest`, which are in the order of their numbers, with the kind of the first that is left, in one sentence; they are taken out. */
static size_t tell_like(struct ada_story *story, uint64_t *rest, size_t count)
{
	const char *kind = kind_of(story, rest[0]);
	uint64_t first = rest[0], last = 0, like = 0, marks = 0, start_ns = UINT64_MAX, end_ns = 0;
	char from[ADA_WORDS], to[ADA_WORDS], number[ADA_WORDS], text[ADA_WORDS], which[128];
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (!strcmp(kind_of(story, rest[i]), kind)) {
			const struct ada_recorded_window *window = &story->session->windows.items[rest[i]];

			like++;
			last = rest[i];
			marks += window->marked_count;
			start_ns = window->start_ns < start_ns ? window->start_ns : start_ns;
			end_ns = window->end_ns > end_ns ? window->end_ns : end_ns;
		}
	if (like == 1)
		snprintf(which, sizeof which, "window %llu", (unsigned long long)first);
	else
		snprintf(which, sizeof which, "the first of them is window %llu, the last window %llu", (unsigned long long)first,
			 (unsigned long long)last);
	ada_narrate_say(story, "windows", "%s more window%s triggered by %s, from %s to %s, with %s mark%s: %s.",
			ada_format_grouped(like, number), like == 1 ? " was" : "s were", *kind ? kind : "nothing",
			ada_words_time(story, start_ns, from), ada_words_time(story, end_ns, to), ada_format_grouped(marks, text),
			ada_words_s(marks), which);
	for (size_t i = 0; i < count; i++) {
		struct ada_mark_place place;

		if (strcmp(kind_of(story, rest[i]), kind)) {
			rest[kept++] = rest[i];
			continue;
		}
		if (i >= CITED_MAX && rest[i] != last)
			continue;
		ada_narrate_cite_file(story, story->session->windows.items[rest[i]].process, "manifest.json", "detail_lane.windows[%u]",
				      story->session->windows.items[rest[i]].id);
		if (ada_narrate_place(story, rest[i], 0, &place) && place.thread)
			ada_narrate_cite(story, place.thread, place.position, place.position);
	}
	return kept;
}

struct told { /* windows with a section of their own, without those that have it for a crash */
	uint64_t windows[SECTIONS_MAX];
	size_t count;
};

/* How many windows before this one have the same trigger, up to the number that matters. */
static unsigned int like_before(const struct ada_story *story, const struct told *told, uint64_t number)
{
	unsigned int like = 0;

	for (size_t i = 0; i < told->count; i++)
		like += !strcmp(kind_of(story, told->windows[i]), kind_of(story, number));
	return like;
}

static bool has_kind(const struct ada_story *story, uint64_t number, const char *kind)
{
	const json_object *kinds = ada_json_get(story->session->windows.items[number].entry, "triggerKinds");

	for (size_t i = 0; i < ada_json_length(kinds); i++) {
		const char *one = json_object_get_string(json_object_array_get_idx(kinds, i));

		if (one && !strcmp(one, kind))
			return true;
	}
	return false;
}

/* Whether a rule marked in this window that marked in none of the told ones. */
static bool has_new_kind(const struct ada_story *story, const struct told *told, uint64_t number)
{
	const json_object *kinds = ada_json_get(story->session->windows.items[number].entry, "triggerKinds");

	for (size_t i = 0; i < ada_json_length(kinds); i++) {
		const char *kind = json_object_get_string(json_object_array_get_idx(kinds, i));
		size_t j = 0;

		while (kind && j < told->count && !has_kind(story, told->windows[j], kind))
			j++;
		if (kind && j == told->count)
			return true;
	}
	return false;
}

/* Headlines of the windows that are selected, the worst first: crashes, then what took longest, then by number. */
struct ranking {
	ADA_ARRAY(struct ada_headline) items;
};

#define ASKED_MAX 200 /* windows whose cause is looked for: the first ones */

static uint64_t badness(const struct ada_headline *headline)
{
	if (headline->crash.process)
		return UINT64_MAX;
	return headline->found ? headline->took_ns : 0;
}

static int compare_headlines(const void *left, const void *right)
{
	const struct ada_headline *a = left, *b = right;

	if (badness(a) != badness(b))
		return badness(a) > badness(b) ? -1 : 1;
	return a->window < b->window ? -1 : 1;
}

/* Of windows that are alike, the worst one says how many there are. */
static void count_alike(struct ranking *ranking)
{
	for (size_t i = 0; i < ranking->items.count; i++) {
		struct ada_headline *first = &ranking->items.items[i];

		for (size_t j = i + 1; first->key && !first->told && j < ranking->items.count; j++)
			if (ranking->items.items[j].key == first->key) {
				uint64_t window = ranking->items.items[j].window;

				ranking->items.items[j].told = true;
				first->more_first = first->more && first->more_first < window ? first->more_first : window;
				first->more_last = first->more && first->more_last > window ? first->more_last : window;
				first->more++;
			}
	}
}

/* The process stays NULL where it did not crash. */
static void find_crash(struct ada_story *story, const struct ada_process *process, struct ada_crash_cause *cause)
{
	bool found;

	story->result = ada_crash_find(process, cause, &found);
	if (story->result || !found)
		ada_crash_free(cause);
}

static int rank_windows(struct ada_story *story, struct ada_cause_reader *reader, struct ranking *ranking)
{
	for (uint64_t i = 0; i < story->session->windows.count && !story->result; i++) {
		struct ada_headline headline = { .window = i };

		if (!is_selected(story, i))
			continue;
		if (ranking->items.count < ASKED_MAX)
			ada_headline_find(story, reader, i, &headline);
		if (!story->result && ada_narrate_holds_crash(story, i))
			find_crash(story, story->session->windows.items[i].process, &headline.crash);
		if (!story->result && ada_array_push(&ranking->items, headline)) {
			ada_headline_free(&headline);
			return -ENOMEM;
		}
	}
	if (ranking->items.count)
		qsort(ranking->items.items, ranking->items.count, sizeof *ranking->items.items, compare_headlines);
	count_alike(ranking);
	return story->result;
}

/* A crash that no window holds: detail was off, or --trigger did not ask for it. */
static void tell_other_crashes(struct ada_story *story)
{
	for (size_t i = 0; i < story->session->processes.count && !story->options.in_window && !story->result; i++) {
		const struct ada_process *process = story->session->processes.items[i];
		bool held = !ada_narrate_selects_process(story, process);
		struct ada_crash_cause cause = {};

		for (size_t j = 0; j < process->window_count && !held; j++)
			held = ada_narrate_holds_crash(story, process->first_window + j);
		if (!held)
			find_crash(story, process, &cause);
		if (!cause.process || story->result)
			continue;
		ada_narrate_section(story, process, ADA_NO_WINDOW, "Crash of %s", process->directory);
		if (!story->result) {
			ada_narrate_crash_cause(story, &cause, false);
			ada_narrate_crash(story, &cause, 0);
		}
		ada_crash_free(&cause);
	}
}

/* Whether it ended in order, or crashed: then what is still open in it is no hang. */
static bool ended_by_itself(const struct ada_process *process)
{
	const json_object *signal = ada_json_get(ada_json_get(process->manifest, "exit"), "signal");

	return (!signal && !ada_process_is_live(process)) || ada_json_get(process->manifest, "crash") ||
	       ada_json_u64(ada_json_get(process->manifest, "exit"), "signal", 0) == SIGSEGV;
}

/* Whether a window tells of a call of the process that has not returned. */
static bool is_told(const struct ranking *ranking, const struct ada_story *story, const struct ada_process *process)
{
	for (size_t i = 0; i < ranking->items.count; i++) {
		const struct ada_headline *headline = &ranking->items.items[i];

		if (story->session->windows.items[headline->window].process == process && headline->found &&
		    headline->cause.links.items[0].wait_open)
			return true;
	}
	return false;
}

/* Processes that hang, or did when they were killed, and that no window tells of. */
static void tell_hangs(struct ada_story *story, struct ada_cause_reader *reader, const struct ranking *ranking)
{
	for (size_t i = 0; i < story->session->processes.count && !story->options.in_window && !story->result; i++) {
		const struct ada_process *process = story->session->processes.items[i];
		struct ada_headline headline = { .window = ADA_NO_WINDOW, .calls = 1 };

		if (!ada_narrate_selects_process(story, process) || ended_by_itself(process) || is_told(ranking, story, process))
			continue;
		story->result = ada_cause_of_hang(reader, process, &headline.cause);
		headline.found = !story->result && headline.cause.found;
		if (headline.found) {
			headline.took_ns = ada_cause_took(&headline.cause.links.items[0]);
			ada_narrate_section(story, process, ADA_NO_WINDOW, "Hang of %s", process->directory);
		}
		if (headline.found && !story->result) {
			ada_narrate_headline(story, reader, &headline);
			ada_narrate_cause(story, &headline);
		}
		ada_headline_free(&headline);
	}
}

static int compare_numbers(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

/* Whether a window with a section of its own has counted this one. */
static bool is_counted(const struct ranking *ranking, const struct ada_headline *headline)
{
	for (const struct ada_headline *before = ranking->items.items; before < headline; before++)
		if (headline->told && before->key == headline->key && !before->told)
			return before->has_section;
	return false;
}

static void tell_ranked(struct ada_story *story, struct ada_cause_reader *reader, const struct ranking *ranking, uint64_t *rest)
{
	size_t rest_count = 0, crashes = 0;
	struct told told = {};

	for (size_t i = 0; i < ranking->items.count && !story->result; i++) {
		struct ada_headline *headline = &ranking->items.items[i];
		uint64_t number = headline->window;

		headline->has_section = true;
		if (story->options.in_window || (crashes < SECTIONS_MAX && ada_narrate_holds_crash(story, number))) {
			crashes++;
			ada_narrate_window(story, reader, headline);
		} else if (told.count < SECTIONS_MAX && (like_before(story, &told, number) < LIKE_TOLD ||
							 has_new_kind(story, &told, number) || (headline->found && !headline->told))) {
			told.windows[told.count++] = number;
			ada_narrate_window(story, reader, headline);
		} else {
			headline->has_section = false;
			if (!is_counted(ranking, headline))
				rest[rest_count++] = number;
		}
	}
	qsort(rest, rest_count, sizeof *rest, compare_numbers);
	if (rest_count && !story->result)
		ada_narrate_section(story, NULL, ADA_NO_WINDOW, "More windows");
	while (rest_count && !story->result)
		rest_count = tell_like(story, rest, rest_count);
}

void ada_narrate_windows(struct ada_story *story)
{
	struct ada_cause_reader *reader = ada_cause_reader_open(story->session);
	uint64_t *rest = calloc(story->session->windows.count + 1, sizeof *rest);
	struct ranking ranking = {};

	if (!rest || !reader)
		story->result = -ENOMEM;
	else if (!rank_windows(story, reader, &ranking))
		tell_hangs(story, reader, &ranking);
	if (!story->result)
		tell_ranked(story, reader, &ranking, rest);
	for (size_t i = 0; i < ranking.items.count; i++)
		ada_headline_free(&ranking.items.items[i]);
	ada_array_free(&ranking.items);
	ada_cause_reader_close(reader);
	free(rest);
	if (!story->result)
		tell_other_crashes(story);
}
