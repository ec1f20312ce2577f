/* A window's headline, as a sentence. */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "base/units.h"
#include "query/headline/internal.h"

static void put_child(FILE *stream, const struct ada_cause_link *link)
{
	if (link->command)
		fprintf(stream, " for %s`%s`", link->kind == ADA_CAUSE_CHILD ? "" : "the stream of ", link->command);
	if (link->command && link->child)
		fprintf(stream, " (%s)", link->child->directory);
	else if (link->child)
		fprintf(stream, " for %s (%s), which ended then", link->child->directory,
			ada_json_text(link->child->manifest, "program", "a child"));
}

static void put_own(struct ada_story *story, FILE *stream, const struct ada_cause *cause, bool open)
{
	const struct ada_cause_link *link = &cause->links.items[0];
	enum ada_cause_kind kind = link->kind;
	char name[ADA_WORDS_NAME], text[ADA_UNITS_TEXT];

	open = open && !link->look_ns;
	ada_words_function(story, link->thread->process, link->wait_function_id, name);
	ada_format_duration(link->spent_ns, text);
	if (kind == ADA_CAUSE_RECORDER)
		fprintf(stream, "%s %s for ada, the recorder", open ? "waits" : "waited", text);
	else if (kind == ADA_CAUSE_RUNQUEUE)
		fprintf(stream, "had no processor for %s in %s, though it was ready to run (who had it is not recorded)", text, name);
	else if (kind == ADA_CAUSE_THROTTLED)
		fprintf(stream, "was kept from running by the limit of its control group in %s for %s", name, text);
	else if (kind == ADA_CAUSE_STEAL)
		fprintf(stream, "had no processor for most of %s in %s: the hypervisor had it", text, name);
	else if (kind == ADA_CAUSE_FAULT && link->off_cpu)
		fprintf(stream, "waited %s for pages in %s", text, name);
	else if (link->off_cpu)
		fprintf(stream, "did not run for %s in %s itself; what for is not recorded", text, name);
	else if (kind == ADA_CAUSE_UNKNOWN)
		fprintf(stream, "spent %s in %s itself; whether it ran there or waited for a processor or a page is not recorded", text,
			name);
	else
		fprintf(stream, "%s %s in %s",
			kind == ADA_CAUSE_SLEEP				 ? (open ? "sleeps" : "slept") :
			kind == ADA_CAUSE_CPU || kind == ADA_CAUSE_FAULT ? (open ? "runs" : "ran") :
									   (open ? "waits" : "waited"),
			text, name);
	if (link->has_object && (kind == ADA_CAUSE_IO || kind == ADA_CAUSE_MESSAGE)) {
		fputs(" on ", stream);
		ada_headline_put_object(story, stream, link);
	}
	ada_headline_put_faults(story, stream, link);
	if (link->spells > 1 && !link->off_cpu && kind != ADA_CAUSE_RECORDER)
		fprintf(stream, " (%" PRIu64 " calls)", link->spells);
	put_child(stream, link);
	if (kind != ADA_CAUSE_RECORDER && kind != ADA_CAUSE_UNKNOWN) {
		fputs(", called in ", stream);
		ada_headline_put_calls(story, stream, cause, link->thread, &link->path);
		ada_headline_put_writer(story, stream, cause);
	}
}

/* "Key 42 took 55 ms from submit on thread 0 to complete on thread 2: thread 2 " */
static void put_span(struct ada_story *story, FILE *stream, const struct ada_headline *headline)
{
	const struct ada_cause_link *link = &headline->cause.links.items[0];
	const struct ada_mark_span *span = &headline->span;
	const struct ada_event *begin = span->position == UINT64_MAX ? NULL : atf_thread_get(span->thread->events, span->position);
	char from[ADA_WORDS_NAME] = "its beginning", to[ADA_WORDS_NAME], text[ADA_UNITS_TEXT];

	if (begin)
		ada_words_function(story, link->thread->process, begin->function_id, from);
	ada_words_function(story, link->thread->process, link->function_id, to);
	ada_format_duration(headline->took_ns, text);
	if (headline->marked > 1)
		fprintf(stream, "%s%" PRIu64 " keys took up to %s from %s to %s, %s longest", headline->more_marked ? "At least " : "",
			headline->marked, text, from, to, span->key);
	else
		fprintf(stream, "Key %s took %s from %s", span->key, text, from);
	if (span->thread)
		fprintf(stream, "%s on thread %u", headline->marked > 1 ? ", begun" : "", span->thread->number);
	if (headline->marked <= 1)
		fprintf(stream, " to %s on thread %u", to, link->thread->number);
	fprintf(stream, ": thread %u ", link->thread->number);
}

/* Whether more than one call is the sentence's subject. */
static bool is_plural(const struct ada_headline *headline)
{
	uint64_t calls = headline->marked > headline->asked ? headline->marked : headline->calls;

	return calls > 1 && !headline->is_span && !headline->cause.links.items[0].open;
}

/* "4 calls of Handler::process took up to 55 ms, usually 5 us: they ", "40 calls ...: 15 of the 16 longest " */
static void put_calls(struct ada_story *story, FILE *stream, const struct ada_headline *headline)
{
	const struct ada_cause_link *link = &headline->cause.links.items[0];
	const struct ada_norm *norm = ada_narrate_norm(story, link->thread->process, link->function_id);
	bool some = headline->marked > headline->asked; /* and not all were asked why */
	uint64_t calls = some ? headline->marked : headline->calls;
	char name[ADA_WORDS_NAME], text[ADA_UNITS_TEXT], usual[ADA_UNITS_TEXT];

	ada_words_function(story, link->thread->process, link->function_id, name);
	ada_format_duration(headline->took_ns, text);
	if (link->open)
		fprintf(stream, "A call of %s has not returned for %s", name, text);
	else if (calls > 1)
		fprintf(stream, "%s%" PRIu64 " calls of %s took up to %s", some && headline->more_marked ? "At least " : "", calls, name,
			text);
	else
		fprintf(stream, "A call of %s took %s", name, text);
	if (norm && norm->calls >= 20 && norm->p50_ns * 2 < headline->took_ns)
		fprintf(stream, ", usually %s", ada_format_duration(norm->p50_ns, usual));
	if (some && !link->open)
		fprintf(stream, ": %" PRIu64 " of the %" PRIu64 " longest ", headline->calls, headline->asked);
	else if (link->look_ns && headline->window == ADA_NO_WINDOW)
		fprintf(stream, ": in the last %s it ", ada_format_duration(link->look_ns, text));
	else if (link->look_ns)
		fprintf(stream, ": in the %s before the mark it ", ada_format_duration(link->look_ns, text));
	else
		fprintf(stream, ": %s ", is_plural(headline) ? "they" : "it");
}

bool ada_headline_is_of_crash(const struct ada_headline *headline)
{
	const struct ada_crash_cause *crash = &headline->crash;

	return crash->process && (!headline->found || crash->kind != ADA_CRASH_UNKNOWN || crash->signal != SIGABRT);
}

static void tell_unfound(struct ada_story *story, const struct ada_headline *headline)
{
	const struct ada_recorded_window *window = &story->session->windows.items[headline->window];
	const char *kind = ada_json_text(window->entry, "triggerKind", "");
	const char *reason = ada_json_u64(window->entry, "eventCount", 1) ? NULL : ada_json_text(window->entry, "shortReason", NULL);
	char time[ADA_WORDS];

	if (headline->panic.thread) {
		ada_headline_panic_tell(story, headline);
		return;
	}
	ada_words_time(story, ada_json_u64(window->entry, "markedNs", window->start_ns), time);
	if (reason)
		ada_narrate_say(story, "headline", "%s marked this window, at %s; nothing around it is left: %s.", *kind ? kind : "Nothing",
				time, reason);
	else
		ada_narrate_say(story, "headline", "%s marked this window, at %s; no call that took long is behind it.",
				*kind ? kind : "Nothing", time);
	ada_narrate_cite_file(story, window->process, "manifest.json", "detail_lane.windows[%u].marks", window->id);
}

void ada_headline_put_alike(FILE *stream, const struct ada_headline *headline)
{
	if (headline->more == 1)
		fprintf(stream, " 1 more window is like it, window %" PRIu64 ".", headline->more_first);
	else if (headline->more)
		fprintf(stream, " %" PRIu64 " more windows are like it, the first of them window %" PRIu64 ", the last window %" PRIu64 ".",
			headline->more, headline->more_first, headline->more_last);
}

static void put_sentence(struct ada_story *story, FILE *stream, const struct ada_headline *headline)
{
	const struct ada_cause *cause = &headline->cause;
	const struct ada_cause_link *link = cause->links.items;

	if (headline->is_span)
		put_span(story, stream, headline);
	else
		put_calls(story, stream, headline);
	switch (ada_cause_kind_of(cause)) {
	case ADA_CAUSE_DEADLOCK: ada_headline_put_deadlock(story, stream, cause); break;
	case ADA_CAUSE_LOCK: ada_headline_put_lock(story, stream, cause, link->wait_open); break;
	case ADA_CAUSE_PREEMPTED: ada_headline_put_preempted(story, stream, cause, link->wait_open, is_plural(headline)); break;
	case ADA_CAUSE_CONDITION: ada_headline_put_condition(story, stream, cause, link->wait_open); break;
	default: put_own(story, stream, cause, link->wait_open); break;
	}
	fputs(".", stream);
}

static void cite(struct ada_story *story, const struct ada_headline *headline)
{
	const struct ada_cause *cause = &headline->cause;
	const struct ada_cause_link *link = cause->links.items;

	if (headline->is_span && headline->span.position != UINT64_MAX)
		ada_narrate_cite(story, headline->span.thread, headline->span.position, headline->span.position);
	ada_narrate_cite(story, link->thread, link->position, link->position);
	if (link->wait_position != link->position)
		ada_narrate_cite(story, link->thread, link->wait_position, link->wait_position);
	for (size_t i = 0; i < cause->links.count; i++)
		if (cause->links.items[i].culprit) {
			ada_narrate_cite(story, cause->links.items[i].culprit, cause->links.items[i].culprit_first,
					 cause->links.items[i].culprit_first);
			ada_narrate_cite(story, cause->links.items[i].culprit, cause->links.items[i].culprit_last,
					 cause->links.items[i].culprit_last);
		}
}

void ada_headline_tell_other(struct ada_story *story, const struct ada_headline *other, const char *opening)
{
	struct ada_telling telling;

	if (!ada_telling_open(story, &telling))
		return;
	fputs(opening, telling.stream);
	put_sentence(story, telling.stream, other);
	ada_telling_say(story, "cause", &telling);
	cite(story, other);
}

void ada_narrate_headline(struct ada_story *story, struct ada_cause_reader *reader, const struct ada_headline *headline)
{
	struct ada_telling telling;

	if (!headline->found || ada_headline_is_of_crash(headline)) {
		if (headline->crash.process)
			ada_narrate_crash_cause(story, &headline->crash, true);
		else
			tell_unfound(story, headline);
		ada_narrate_attach_cause(story, ada_headline_json(story, reader, headline));
		return;
	}
	if (!ada_telling_open(story, &telling))
		return;
	put_sentence(story, telling.stream, headline);
	ada_headline_put_alike(telling.stream, headline);
	ada_telling_say(story, "headline", &telling);
	cite(story, headline);
	ada_narrate_attach_cause(story, ada_headline_json(story, reader, headline));
}
