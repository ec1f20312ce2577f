/* The windows: what is told of each, and which of many have a section of their own. */
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

/* --- one window --------------------------------------------------------------------------------------------------------- */

static void put_roll(FILE *stream, const json_object *entry, const char *what, const char *field, const char *asked)
{
	double saved = json_object_get_double(ada_json_get(entry, field)), wanted = json_object_get_double(ada_json_get(entry, asked));
	char text[ADA_UNITS_TEXT], asked_text[ADA_UNITS_TEXT];

	if (!(saved >= 0 && saved < 1e9 && wanted >= 0 && wanted < 1e9))
		return;
	ada_format_duration((uint64_t)(saved * 1e9 + 0.5), text);
	ada_format_duration((uint64_t)(wanted * 1e9 + 0.5), asked_text);
	fprintf(stream, ", %s %s", what, text);
	if (wanted > 0 && strcmp(text, asked_text))
		fprintf(stream, " (%s asked for)", asked_text);
}

static void tell_bounds(struct ada_story *story, const struct ada_recorded_window *window, uint64_t number)
{
	const struct ada_process *process = window->process;
	uint64_t events = 0, details = 0, threads = 0, first, end;
	uint64_t to_ns = window->end_ns == UINT64_MAX ? UINT64_MAX : window->end_ns + 1;
	char from[ADA_WORDS], to[ADA_WORDS], count[ADA_WORDS], percent[ADA_WORDS], duration[ADA_UNITS_TEXT];
	struct ada_telling telling;

	for (size_t i = 0; i < process->thread_count; i++) {
		const struct ada_thread *thread = &story->session->threads.items[process->first_thread + i];

		if (!ada_narrate_range(story, thread, window, &first, &end))
			continue;
		threads++;
		events += end - first;
		details += ada_thread_details(thread,
					      window->start_ns > story->selection->from_ns ? window->start_ns : story->selection->from_ns,
					      to_ns < story->selection->to_ns ? to_ns : story->selection->to_ns);
	}
	if (!ada_telling_open(story, &telling))
		return;
	if (window->end_ns == UINT64_MAX)
		fprintf(telling.stream, "Window %llu begins at %s and has no end yet", (unsigned long long)number,
			ada_words_time(story, window->start_ns, from));
	else
		fprintf(telling.stream, "Window %llu holds %s, from %s to %s", (unsigned long long)number,
			ada_format_duration(window->end_ns > window->start_ns ? window->end_ns - window->start_ns : 0, duration),
			ada_words_time(story, window->start_ns, from), ada_words_time(story, window->end_ns, to));
	put_roll(telling.stream, window->entry, "with a pre-roll of", "preRollSec", "requestedPreRollSec");
	put_roll(telling.stream, window->entry, "a post-roll of", "postRollSec", "requestedPostRollSec");
	fprintf(telling.stream, ": %s event%s of %llu thread%s", ada_format_grouped(events, count), ada_words_s(events),
		(unsigned long long)threads, ada_words_s(threads));
	if (events)
		fprintf(telling.stream, ", %s with detail", ada_words_percent((double)details / (double)events, percent));
	fputs(".", telling.stream);
	ada_telling_say(story, "window", &telling);
	ada_narrate_cite_file(story, process, "manifest.json", "detail_lane.windows[%u]", window->id);
	ada_narrate_cite_window(story, window);
}

static void tell_short(struct ada_story *story, const struct ada_recorded_window *window)
{
	const char *reason = ada_json_text(window->entry, "shortReason", NULL);

	if (reason) {
		ada_narrate_say(story, "short", "It has less than was asked for: %s.", reason);
		ada_narrate_cite_file(story, window->process, "manifest.json", "detail_lane.windows[%u].shortReason", window->id);
		ada_narrate_cite_window(story, window);
	}
	if (!ada_json_bool(window->entry, "settled", true)) {
		ada_narrate_say(story, "short", "It is not written to its end yet.");
		ada_narrate_cite_file(story, window->process, "manifest.json", "detail_lane.windows[%u].settled", window->id);
	}
}

/* What text leaves out where not all is asked for. */
static void tell_rest(struct ada_story *story, const struct ada_recorded_window *window, uint64_t number, struct ada_first_marks *firsts)
{
	tell_bounds(story, window, number);
	tell_short(story, window);
	ada_narrate_marks(story, number, firsts);
	ada_narrate_unusual(story, window);
	ada_narrate_new_callers(story, window);
	ada_narrate_errors(story, window);
	for (size_t i = 0; i < firsts->count; i++)
		ada_narrate_followed(story, &firsts->places[i], i > 0, ada_first_marks_same_thread(firsts, i));
}

#define KINDS_NAMED 2

/* The rules that marked it: "latency:take>2ms, symbol:flush and 1 more"; malloc'ed, NULL: no memory. */
static char *kinds_text(const json_object *entry)
{
	const json_object *kinds = ada_json_get(entry, "triggerKinds");
	size_t count = ada_json_length(kinds), size;
	char *text = NULL;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return NULL;
	if (count < 2)
		fputs(ada_json_text(entry, "triggerKind", "no trigger"), stream);
	for (size_t i = 0; count > 1 && i < count && i < KINDS_NAMED; i++)
		fprintf(stream, "%s%s",
			!i	       ? "" :
			i + 1 == count ? " and " :
					 ", ",
			json_object_get_string(json_object_array_get_idx(kinds, i)));
	if (count > KINDS_NAMED)
		fprintf(stream, " and %zu more", count - KINDS_NAMED);
	fclose(stream);
	return text;
}

static void tell_window(struct ada_story *story, struct ada_cause_reader *reader, const struct ada_headline *headline)
{
	uint64_t number = headline->window;
	const struct ada_recorded_window *window = &story->session->windows.items[number];
	struct ada_first_marks firsts = {};
	char *kinds = kinds_text(window->entry);

	if (kinds)
		ada_narrate_section(story, window->process, number, "Window %llu of %s: %s", (unsigned long long)number,
				    window->process->directory, kinds);
	else
		story->result = -ENOMEM;
	free(kinds);
	if (story->result)
		return;
	story->narrative->sections.items[story->narrative->sections.count - 1].alike = headline->told;
	ada_narrate_headline(story, reader, headline);
	if (headline->found && headline->crash.process)
		ada_narrate_crash_cause(story, &headline->crash, false);
	ada_narrate_cause(story, headline);
	if (!ada_narrate_leaves_out(story))
		tell_rest(story, window, number, &firsts);
	if (headline->crash.process)
		ada_narrate_crash(story, &headline->crash, firsts.told_ns);
}

/* --- all of them -------------------------------------------------------------------------------------------------------- */

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
			tell_window(story, reader, headline);
		} else if (told.count < SECTIONS_MAX && (like_before(story, &told, number) < LIKE_TOLD ||
							 has_new_kind(story, &told, number) || (headline->found && !headline->told))) {
			told.windows[told.count++] = number;
			tell_window(story, reader, headline);
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
