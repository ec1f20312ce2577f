/* The session: what ran, for how long, of what is told, what is missing. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/quote.h"
#include "base/units.h"
#include "query/narrate/parts.h"

static void put_command(struct ada_story *story, FILE *stream, const json_object *command)
{
	for (size_t i = 0; i < ada_json_length(command); i++) {
		const char *argument = json_object_get_string(json_object_array_get_idx(command, i));
		char *quoted = ada_quote_argument(argument ? argument : "");

		fprintf(stream, "%s%s", i ? " " : "", quoted ? quoted : "");
		story->result = quoted ? story->result : -ENOMEM;
		free(quoted);
	}
}

static void cite_all_threads(struct ada_story *story)
{
	for (size_t i = 0; i < story->selection->threads.count; i++)
		ada_narrate_cite_thread(story, story->selection->threads.items[i]);
}

static void tell_recorded(struct ada_story *story)
{
	const struct ada_session *session = story->session;
	const json_object *document = session->document, *host = ada_json_get(document, "host");
	uint64_t end_ns = ada_json_u64(document, "endNs", 0), events = 0, threads = 0;
	char number[ADA_WORDS], duration[ADA_UNITS_TEXT];
	struct ada_telling telling;

	for (size_t i = 0; i < session->threads.count; i++) {
		events += session->threads.items[i].count;
		threads += session->threads.items[i].count > 0;
	}
	end_ns = end_ns ? end_ns : ada_session_end_ns(session);
	if (!ada_telling_open(story, &telling))
		return;
	if (ada_json_length(ada_json_get(document, "command"))) {
		fputs("The command `", telling.stream);
		put_command(story, telling.stream, ada_json_get(document, "command"));
		fprintf(telling.stream, "` was recorded on %s from %s", ada_json_text(host, "name", "an unknown host"),
			ada_json_text(document, "started", "an unknown time"));
	} else {
		fputs("A program was recorded", telling.stream);
	}
	fprintf(telling.stream, " for %s: %zu process%s, %" PRIu64 " thread%s with events, %s event%s.",
		ada_format_duration(end_ns > session->start_ns ? end_ns - session->start_ns : 0, duration), session->processes.count,
		session->processes.count == 1 ? "" : "es", threads, ada_words_s(threads), ada_format_grouped(events, number),
		ada_words_s(events));
	ada_telling_say(story, "session", &telling);
	if (document)
		ada_narrate_cite_file(story, NULL, "session.json", "%s", "");
	for (size_t i = 0; i < session->threads.count; i++)
		if (session->threads.items[i].count)
			ada_narrate_cite(story, &session->threads.items[i], 0, session->threads.items[i].count - 1);
	if (!document && !events)
		ada_narrate_cite_file(story, NULL, "ada verify", "%s", "");
}

static void tell_selected(struct ada_story *story)
{
	const struct ada_completeness *completeness = &story->narrative->completeness;
	const struct ada_selection *selection = story->selection;
	char number[ADA_WORDS], from[ADA_WORDS], to[ADA_WORDS];

	if (!selection->from_ns && selection->to_ns == UINT64_MAX && selection->threads.count == story->session->threads.count)
		return;
	ada_narrate_say(story, "selected", "What follows is of %zu of %zu threads, from %s to %s: %s event%s.", selection->threads.count,
			story->session->threads.count, ada_words_time(story, selection->from_ns, from),
			selection->to_ns == UINT64_MAX ? "the end" : ada_words_time(story, selection->to_ns, to),
			ada_format_grouped(completeness->events, number), ada_words_s(completeness->events));
	cite_all_threads(story);
	if (!completeness->events)
		for (size_t i = 0; i < selection->threads.count; i++)
			ada_narrate_cite_file(story, selection->threads.items[i]->process, "manifest.json", "threads[%u]",
					      selection->threads.items[i]->number);
}

static bool windows_known(const struct ada_session *session)
{
	for (size_t i = 0; i < session->processes.count; i++)
		if (!session->processes.items[i]->manifest)
			return false;
	return true;
}

#define FILTERED_SAID " Of %s, which take mutexes and give them back, only uncontended calls are missing."

static void tell_muted(struct ada_story *story)
{
	const struct ada_completeness *completeness = &story->narrative->completeness;
	const struct ada_session *session = story->session;
	char number[ADA_WORDS], percent[ADA_WORDS], filtered[ADA_WORDS + sizeof FILTERED_SAID] = "";

	if (!completeness->muted)
		return;
	if (completeness->filtered) {
		ada_format_grouped(completeness->filtered, number);
		snprintf(filtered, sizeof filtered, FILTERED_SAID, number);
	}
	ada_narrate_say(story, "muted",
			"%s function%s muted for some of the time, about %s of the calls: those are in no file, and their time is their "
			"callers' own.%s",
			ada_format_grouped(completeness->muted, number), completeness->muted == 1 ? " was" : "s were",
			ada_words_percent(completeness->muted_share, percent), filtered);
	for (size_t i = 0; i < session->processes.count; i++)
		if (ada_json_length(ada_json_get(session->processes.items[i]->manifest, "muted")))
			ada_narrate_cite_file(story, session->processes.items[i], "manifest.json", "muted");
}

/* What was lost in all, and how much has detail. */
static void tell_completeness(struct ada_story *story)
{
	const struct ada_completeness *completeness = &story->narrative->completeness;
	const struct ada_session *session = story->session;
	uint64_t lost = ada_completeness_lost(completeness);
	char number[ADA_WORDS], percent[ADA_WORDS];

	if (completeness->events) {
		ada_narrate_say(story, "losses",
				lost ? "%s event%s lost." :
				completeness->complete || completeness->aged || completeness->overwritten || completeness->detail_lost ?
				       "No event was lost." :
				       "No loss is recorded, but the recording is not complete.",
				ada_format_grouped(lost, number), lost == 1 ? " was" : "s were");
		cite_all_threads(story);
	}
	if (completeness->detail_lost)
		ada_narrate_say(story, "losses", "%s detail record%s could not be written.",
				ada_format_grouped(completeness->detail_lost, number), completeness->detail_lost == 1 ? "" : "s");
	if (completeness->aged)
		ada_narrate_say(story, "losses", "%s older events have gone: only sums by function know of them.",
				ada_format_grouped(completeness->aged, number));
	if (!session->windows.count && !windows_known(session)) {
		ada_narrate_say(story, "coverage", "%s of the events have detail; which windows were kept can't be read.",
				ada_words_percent(completeness->detail_coverage, percent));
	} else if (!session->windows.count && completeness->detail_coverage == 0) {
		ada_narrate_say(story, "coverage", "No event has detail: no window was kept.");
	} else {
		ada_narrate_say(story, "coverage", "%s of the events have detail; %zu window%s kept.",
				ada_words_percent(completeness->detail_coverage, percent), session->windows.count,
				session->windows.count == 1 ? " was" : "s were");
	}
	for (size_t i = 0; i < session->processes.count; i++)
		if (session->processes.items[i]->manifest)
			ada_narrate_cite_file(story, session->processes.items[i], "manifest.json", "detail_lane");
	cite_all_threads(story);
	if (!session->processes.count)
		ada_narrate_cite_file(story, NULL, session->document ? "session.json" : "ada verify", "%s", "");
}

static void tell_missing(struct ada_story *story)
{
	const json_object *missing = ada_json_get(story->session->document, "notRecorded");

	for (size_t i = 0; i < ada_json_length(missing); i++) {
		const json_object *entry = json_object_array_get_idx(missing, i);

		ada_narrate_say(story, "not-recorded", "Process %u (%s) was not recorded: %s.", (unsigned)ada_json_u64(entry, "pid", 0),
				ada_json_text(entry, "program", "?"), ada_json_text(entry, "reason", "no reason is known"));
		ada_narrate_cite_file(story, NULL, "session.json", "notRecorded[%zu]", i);
	}
	for (size_t i = 0; i < story->session->problems.count; i++) {
		ada_narrate_say(story, "unreadable", "What follows is without what can't be read: %s.", story->session->problems.items[i]);
		ada_narrate_cite_file(story, NULL, "ada verify", "%s", "");
	}
}

void ada_narrate_session(struct ada_story *story)
{
	ada_narrate_section(story, NULL, ADA_NO_WINDOW, "Session %s", story->session->path);
	tell_recorded(story);
	tell_selected(story);
	tell_completeness(story);
	tell_muted(story);
	ada_narrate_excluded(story);
	tell_missing(story);
}
