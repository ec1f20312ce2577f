/* One window: its headline, its bounds, and what is in it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/units.h"
#include "query/narrate/parts.h"
#include "query/session/windows.h"

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

void ada_narrate_window(struct ada_story *story, struct ada_cause_reader *reader, const struct ada_headline *headline)
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
	if (headline->crash.process && !ada_headline_is_of_crash(headline))
		ada_narrate_crash_cause(story, &headline->crash, false);
	ada_narrate_cause(story, headline);
	if (!ada_narrate_leaves_out(story))
		tell_rest(story, window, number, &firsts);
	if (headline->crash.process)
		ada_narrate_crash(story, &headline->crash, firsts.told_ns);
}
