/* A window's headline, and the sentences that bear it out. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/units.h"
#include "query/narrate/parts.h"

#define FAULTED_NS 10000 /* of what ran so long a page fault, these are told: they may be a part of it */

static void put_path(struct ada_story *story, FILE *stream, const struct ada_process *process, const struct ada_stack *path)
{
	char *text = ada_cause_path_text(process, path, story->options.full_names);

	if (!text)
		story->result = -ENOMEM;
	fputs(text ? text : "", stream);
	free(text);
}

/* The same, of the headline: with arguments. */
static void put_calls_of(struct ada_story *story, FILE *stream, const struct ada_cause *cause, const struct ada_thread *thread,
			 const struct ada_stack *path)
{
	char *text = ada_cause_calls_text(cause, thread, path, story->options.full_names);

	if (!text)
		story->result = -ENOMEM;
	fputs(text ? text : "", stream);
	free(text);
}

/* "mutex", by the function that waited for it. */
static const char *sort_of(struct ada_story *story, const struct ada_cause_link *link)
{
	static const char *const sorts[][2] = { { "mutex", "mutex" },	   { "mtx_", "mutex" },	     { "rwlock", "readers-writer lock" },
						{ "spin", "spin lock" },   { "sem_", "semaphore" },  { "cond", "condition" },
						{ "cnd_", "condition" },   { "barrier", "barrier" }, { "lockfile", "stream" },
						{ "once", "once object" }, { "syscall", "futex" } };
	const struct ada_name *name = ada_name_list_get(&story->names, link->thread->process, link->wait_function_id);

	if (link->stream)
		return "stream";
	if (link->kind == ADA_CAUSE_LOCK && name && strstr(name->mangled, "cond"))
		return "mutex"; /* that the wait for the condition has to take again */
	for (size_t i = 0; name && i < sizeof sorts / sizeof *sorts; i++)
		if (strstr(name->mangled, sorts[i][0]))
			return sorts[i][1];
	return "object";
}

/* "mutex 0x7f..." */
static void put_object(struct ada_story *story, FILE *stream, const struct ada_cause_link *link)
{
	char text[ADA_CAUSE_OBJECT];

	if (link->kind == ADA_CAUSE_IO || link->kind == ADA_CAUSE_MESSAGE)
		fprintf(stream, "%s%s%s", ada_cause_object_text(link, text),
			link->opened ? ", opened as " :
			link->peer   ? ", peer " :
				       "",
			link->opened ? link->opened :
			link->peer   ? link->peer :
				       "");
	else
		fprintf(stream, "%s %s", sort_of(story, link), ada_cause_object_text(link, text));
}

static uint64_t held_ns(const struct ada_cause_link *link)
{
	return link->culprit_end_ns > link->culprit_start_ns ? link->culprit_end_ns - link->culprit_start_ns : 0;
}

/* Where the culprit was: what it did meanwhile, or else where it took the object. */
static void put_whereabouts(struct ada_story *story, FILE *stream, const struct ada_cause *cause)
{
	struct ada_culprit culprit;

	ada_cause_culprit(cause, &culprit);
	if (culprit.thread && culprit.path->frames.count) {
		fputs(" in ", stream);
		put_calls_of(story, stream, cause, culprit.thread, culprit.path);
	}
}

static void put_holder(FILE *stream, const struct ada_cause_link *link)
{
	static const char *const verbs[2][3] = { { "held for", "has held for", "had held for" },
						 { "initialised for", "has initialised for", "had initialised for" } };
	const char *held = verbs[link->once][!link->culprit_open ? 0 : link->wait_open ? 1 : 2];
	bool short_hold = held_ns(link) * 2 < link->wait_end_ns - link->wait_start_ns;
	char text[ADA_UNITS_TEXT], all[ADA_UNITS_TEXT];

	ada_format_duration(held_ns(link), text);
	if (link->woken)
		fprintf(stream, " until thread %u woke it after %s", link->culprit->number, text);
	else if (link->holders > 1 && short_hold)
		fprintf(stream, " that %" PRIu64 " threads held in turn, longest thread %u for %s", link->holders, link->culprit->number,
			text);
	else if (link->holds > 1 && short_hold)
		fprintf(stream, " that thread %u held %" PRIu64 " times, %s in all, longest for %s", link->culprit->number, link->holds,
			ada_format_duration(link->held_ns, all), text);
	else
		fprintf(stream, " that thread %u %s %s%s", link->culprit->number, held, link->culprit_longer ? "at least " : "", text);
}

static bool is_join(struct ada_story *story, const struct ada_cause_link *link)
{
	const struct ada_name *name = ada_name_list_get(&story->names, link->thread->process, link->wait_function_id);

	return name && strstr(name->mangled, "join");
}

/* The condition, or the end of a thread. */
static void put_awaited(struct ada_story *story, FILE *stream, const struct ada_cause_link *link)
{
	bool joins = is_join(story, link);

	if (joins && link->culprit)
		fprintf(stream, "the end of thread %u", link->culprit->number);
	else if (joins)
		fputs("the end of a thread", stream);
	else if (link->has_object)
		put_object(story, stream, link);
	else
		fputs("a condition", stream);
}

/* What the holder waited for meanwhile, and so on to the last link, of which the thread's whereabouts are told. */
static void put_chain(struct ada_story *story, FILE *stream, const struct ada_cause *cause)
{
	for (size_t i = 1; i < cause->links.count; i++) {
		const struct ada_cause_link *next = &cause->links.items[i];

		if (!next->culprit || (next->kind == ADA_CAUSE_LOCK && i + 1 == cause->links.count))
			return;
		if (next->kind != ADA_CAUSE_LOCK && next->kind != ADA_CAUSE_CONDITION)
			return;
		fputs(" while it waited for ", stream);
		if (next->kind == ADA_CAUSE_LOCK) {
			put_object(story, stream, next);
			put_holder(stream, next);
		} else {
			put_awaited(story, stream, next);
			if (is_join(story, next))
				fputs(", then", stream);
			else
				fprintf(stream, ", which thread %u %s", next->culprit->number,
					next->came_before ? "had signalled before" : "ended");
		}
	}
}

/* Whether page faults are most of what ran, or may be much of it. */
static bool has_faults(const struct ada_cause_link *link)
{
	uint64_t longest_ns = link->spells > 1 ? link->wait_end_ns - link->wait_start_ns : link->spent_ns;

	return link->kind == ADA_CAUSE_FAULT || (link->kind == ADA_CAUSE_CPU && link->faults * FAULTED_NS >= longest_ns);
}

static void put_faults(FILE *stream, const struct ada_cause_link *link)
{
	if (has_faults(link))
		fprintf(stream, " with %" PRIu64 " page faults%s%s", link->faults, link->off_cpu ? " that read from a disk" : "",
			link->spells > 1 && !link->off_cpu ? " in the longest call" : "");
}

/* Where the time of whoever ends the chain went, where its path doesn't tell. Who holds a lock and gets no processor can't give it back:
 * priority inversion. */
static void put_roots_time(struct ada_story *story, FILE *stream, const struct ada_cause *cause)
{
	const struct ada_cause_link *last = ada_cause_root(cause);
	struct ada_culprit culprit;
	char name[ADA_WORDS_NAME], text[ADA_UNITS_TEXT];

	if (cause->links.count < 2)
		return;
	ada_cause_culprit(cause, &culprit);
	ada_format_duration(last->spent_ns, text);
	if (has_faults(last)) {
		fprintf(stream, ", %s of that", text);
		if (culprit.path != &last->path)
			fprintf(stream, " in %s", ada_words_function(story, last->thread->process, last->wait_function_id, name));
		put_faults(stream, last);
	}
	if (last->kind != ADA_CAUSE_PREEMPTED)
		return;
	fprintf(stream, ", %s of that without a processor", text);
	if (!last->culprit)
		return;
	fprintf(stream, ", which thread %u had in ", last->culprit->number);
	put_calls_of(story, stream, cause, last->culprit, &last->culprit_path);
}

static void put_lock(struct ada_story *story, FILE *stream, const struct ada_cause *cause, bool open)
{
	const struct ada_cause_link *link = &cause->links.items[0];
	char name[ADA_WORDS_NAME];

	fprintf(stream, "%s for ", open ? "waits" : "waited");
	if (!link->has_object) {
		fprintf(stream, "a lock in %s; the recording doesn't say which, nor who held it",
			ada_words_function(story, link->thread->process, link->wait_function_id, name));
		return;
	}
	put_object(story, stream, link);
	if (!link->culprit) {
		fputs("; who held it is not known", stream);
		return;
	}
	put_holder(stream, link);
	put_chain(story, stream, cause);
	put_whereabouts(story, stream, cause);
	put_roots_time(story, stream, cause);
	if (link->gave_up)
		fputs("; it gave up at its time limit", stream);
}

static void put_deadlock(struct ada_story *story, FILE *stream, const struct ada_cause *cause)
{
	fprintf(stream, "is in a deadlock: ");
	for (size_t i = 0; i < cause->links.count; i++) {
		const struct ada_cause_link *link = &cause->links.items[i];

		fprintf(stream, "%sthread %u waits for ", i ? "; " : "", link->thread->number);
		put_object(story, stream, link);
		fputs(" in ", stream);
		put_calls_of(story, stream, cause, link->thread, &link->path);
		if (link->culprit == link->thread)
			fputs(", which it holds itself", stream);
		else
			fprintf(stream, ", held by thread %u", link->culprit->number);
	}
}

static void put_condition(struct ada_story *story, FILE *stream, const struct ada_cause *cause, bool open)
{
	const struct ada_cause_link *link = &cause->links.items[0];
	bool joins = is_join(story, link);
	char text[ADA_UNITS_TEXT];

	fprintf(stream, "%s for ", open ? "waits" : "waited");
	put_awaited(story, stream, link);
	if (link->came_before) {
		fprintf(stream, ", which nobody signalled since; thread %u had signalled it %s before the wait began",
			link->culprit->number, ada_format_duration(link->wait_start_ns - link->culprit_end_ns, text));
		put_whereabouts(story, stream, cause);
	} else if (link->culprit) {
		if (!joins)
			fprintf(stream, ", which thread %u ended after %s", link->culprit->number,
				ada_format_duration(held_ns(link), text));
		put_whereabouts(story, stream, cause);
		put_roots_time(story, stream, cause);
	} else if (link->gave_up) {
		fputs(", which nobody signalled, until its time limit", stream);
	} else if (link->has_object && !joins) {
		fprintf(stream, ", which nobody is seen to %s", open ? "end" : "have ended");
	}
}

static void put_preempted(struct ada_story *story, FILE *stream, const struct ada_cause *cause, bool open, bool several)
{
	const struct ada_cause_link *link = &cause->links.items[0];
	char name[ADA_WORDS_NAME], text[ADA_UNITS_TEXT];

	fprintf(stream, "%s ready to run in %s for %s, %" PRIu64 " time%s, and had no processor",
		open	? "has been" :
		several ? "were" :
			  "was",
		ada_words_function(story, link->thread->process, link->wait_function_id, name), ada_format_duration(link->spent_ns, text),
		link->spells, ada_words_s(link->spells));
	if (!link->culprit) {
		fputs("; who had it for most of that is no thread of this process", stream);
		return;
	}
	fprintf(stream, ", which thread %u had for %s of that", link->culprit->number, ada_format_duration(link->had_ns, text));
	if (link->holders > 1)
		fprintf(stream, ", longest of %" PRIu64 " threads,", link->holders);
	put_whereabouts(story, stream, cause);
}

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
		put_object(story, stream, link);
	}
	put_faults(stream, link);
	if (link->spells > 1 && !link->off_cpu && kind != ADA_CAUSE_RECORDER)
		fprintf(stream, " (%" PRIu64 " calls)", link->spells);
	put_child(stream, link);
	if (kind != ADA_CAUSE_RECORDER && kind != ADA_CAUSE_UNKNOWN) {
		fputs(", called in ", stream);
		put_calls_of(story, stream, cause, link->thread, &link->path);
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

static void tell_unfound(struct ada_story *story, const struct ada_headline *headline)
{
	const struct ada_recorded_window *window = &story->session->windows.items[headline->window];
	const char *kind = ada_json_text(window->entry, "triggerKind", "");
	const char *reason = ada_json_u64(window->entry, "eventCount", 1) ? NULL : ada_json_text(window->entry, "shortReason", NULL);
	char time[ADA_WORDS];

	if (headline->crash.process) {
		ada_narrate_crash_cause(story, &headline->crash, true);
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

static void put_alike(FILE *stream, const struct ada_headline *headline)
{
	if (headline->more == 1)
		fprintf(stream, " 1 more window is like it, window %" PRIu64 ".", headline->more_first);
	else if (headline->more)
		fprintf(stream, " %" PRIu64 " more windows are like it, the first of them window %" PRIu64 ", the last window %" PRIu64 ".",
			headline->more, headline->more_first, headline->more_last);
}

void ada_narrate_headline(struct ada_story *story, struct ada_cause_reader *reader, const struct ada_headline *headline)
{
	const struct ada_cause *cause = &headline->cause;
	const struct ada_cause_link *link = cause->links.items;
	struct ada_telling telling;

	if (!headline->found) {
		tell_unfound(story, headline);
		ada_narrate_attach_cause(story, ada_headline_json(story, reader, headline));
		return;
	}
	if (!ada_telling_open(story, &telling))
		return;
	if (headline->is_span)
		put_span(story, telling.stream, headline);
	else
		put_calls(story, telling.stream, headline);
	switch (ada_cause_kind_of(cause)) {
	case ADA_CAUSE_DEADLOCK: put_deadlock(story, telling.stream, cause); break;
	case ADA_CAUSE_LOCK: put_lock(story, telling.stream, cause, link->wait_open); break;
	case ADA_CAUSE_PREEMPTED: put_preempted(story, telling.stream, cause, link->wait_open, is_plural(headline)); break;
	case ADA_CAUSE_CONDITION: put_condition(story, telling.stream, cause, link->wait_open); break;
	default: put_own(story, telling.stream, cause, link->wait_open); break;
	}
	fputs(".", telling.stream);
	put_alike(telling.stream, headline);
	ada_telling_say(story, "headline", &telling);
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
	ada_narrate_attach_cause(story, ada_headline_json(story, reader, headline));
}

/* --- evidence ----------------------------------------------------------------------------------------------------------- */

/* What a loop calls: ", 30 ms in onig_search (5,000 calls)" */
static void put_beside(struct ada_story *story, FILE *stream, const struct ada_cause_link *link)
{
	char name[ADA_WORDS_NAME], text[ADA_UNITS_TEXT], count[ADA_WORDS];

	for (size_t i = 0; i < ADA_BESIDE && link->beside[i].ns; i++)
		fprintf(stream, ", %s in %s (%s call%s)", ada_format_duration(link->beside[i].ns, text),
			ada_words_function(story, link->thread->process, link->beside[i].function_id, name),
			ada_format_grouped(link->beside[i].spells, count), ada_words_s(link->beside[i].spells));
}

static void tell_spent(struct ada_story *story, const struct ada_cause_link *link, bool first)
{
	char name[ADA_WORDS_NAME], spent[ADA_UNITS_TEXT], all[ADA_UNITS_TEXT], from[ADA_WORDS];
	struct ada_telling telling;

	if (!ada_telling_open(story, &telling))
		return;
	ada_words_function(story, link->thread->process, link->wait_function_id, name);
	if (first)
		fprintf(telling.stream, "On thread %u it began", link->thread->number);
	else
		fprintf(telling.stream, "Meanwhile thread %u %s", link->thread->number,
			link->kind == ADA_CAUSE_PREEMPTED ? "had no processor, though ready to run, for" : "spent");
	ada_format_duration(link->spent_ns, spent);
	ada_format_duration(link->look_ns ? link->look_ns : link->end_ns - link->start_ns, all);
	if (first)
		fprintf(telling.stream, " at %s; %s of %s %s", ada_words_time(story, link->start_ns, from), spent,
			link->look_ns ? "these" : "its", all);
	else
		fprintf(telling.stream, " %s of %s%s", spent, all, link->part ? ", a part that was read," : "");
	fprintf(telling.stream, "%s in %s%s", first ? " were spent" : "", link->kind == ADA_CAUSE_RECORDER ? "the recorder, under " : "",
		name);
	put_faults(telling.stream, link);
	put_beside(story, telling.stream, link);
	fputs(link->beside[0].ns ? "; the first of these in " : ", in ", telling.stream);
	put_path(story, telling.stream, link->thread->process, &link->path);
	fputs(".", telling.stream);
	if (link->returns)
		fprintf(telling.stream, " The wait ended %" PRIu64 " time%s before, and it waited again.", link->returns,
			ada_words_s(link->returns));
	ada_telling_say(story, "cause", &telling);
	if (first)
		ada_narrate_cite(story, link->thread, link->position, link->position);
	ada_narrate_cite(story, link->thread, link->wait_position, link->wait_position);
}

static void tell_culprit(struct ada_story *story, const struct ada_cause_link *link)
{
	char from[ADA_WORDS], to[ADA_WORDS], had[ADA_UNITS_TEXT];
	struct ada_telling telling;

	if (!ada_telling_open(story, &telling))
		return;
	fprintf(telling.stream, "Thread %u ", link->culprit->number);
	ada_words_time(story, link->culprit_start_ns, from);
	ada_words_time(story, link->culprit_end_ns, to);
	if (link->woken) {
		fprintf(telling.stream, "woke thread %u by ", link->thread->number);
		put_object(story, telling.stream, link);
		fprintf(telling.stream, " at %s", to);
	} else if (link->kind == ADA_CAUSE_LOCK) {
		fputs(link->once ? "began to initialise " : "took ", telling.stream);
		put_object(story, telling.stream, link);
		fprintf(telling.stream, " at %s", from);
		if (link->once && link->culprit_open)
			fputs(" and has not ended that", telling.stream);
		else if (link->once)
			fprintf(telling.stream, " and ended that at %s", to);
		else if (link->culprit_open)
			fputs(link->wait_open ? " and has not given it back" : " and had it beyond the wait's end", telling.stream);
		else
			fprintf(telling.stream, " and gave it back at %s", to);
	} else if (link->kind == ADA_CAUSE_PREEMPTED) {
		fprintf(telling.stream,
			"had the processor for %s of the time in which thread %u had none, the longest such time from %s to %s",
			ada_format_duration(link->had_ns, had), link->thread->number, from, to);
	} else {
		fprintf(telling.stream, "%s at %s", link->came_before ? "signalled before," : "ended the wait", to);
	}
	fputs(", in ", telling.stream);
	put_path(story, telling.stream, link->culprit->process, &link->culprit_path);
	if (link->holders > 1 && link->kind != ADA_CAUSE_PREEMPTED)
		fprintf(telling.stream, "; %" PRIu64 " threads held it during the wait, this one longest", link->holders);
	else if (link->kind == ADA_CAUSE_LOCK && link->holds > 1)
		fprintf(telling.stream, "; it held it %" PRIu64 " times during the wait, this time longest", link->holds);
	fputs(".", telling.stream);
	ada_telling_say(story, "cause", &telling);
	ada_narrate_cite(story, link->culprit, link->culprit_first, link->culprit_first);
	ada_narrate_cite(story, link->culprit, link->culprit_last, link->culprit_last);
}

#define LINKS_TOLD 4

/* What the function did itself, and no wait that is told. */
static bool is_its_own(enum ada_cause_kind kind)
{
	return kind == ADA_CAUSE_UNKNOWN || kind == ADA_CAUSE_CPU || kind == ADA_CAUSE_FAULT;
}

void ada_narrate_cause(struct ada_story *story, const struct ada_headline *headline)
{
	for (size_t i = 0; headline->found && i < headline->cause.links.count && i < LINKS_TOLD; i++) {
		tell_spent(story, &headline->cause.links.items[i], !i && !headline->is_span);
		if (headline->cause.links.items[i].culprit)
			tell_culprit(story, &headline->cause.links.items[i]);
	}
	if (headline->found && !headline->cause.deadlock && is_its_own(ada_cause_root(&headline->cause)->kind))
		ada_narrate_library(story, ada_cause_root(&headline->cause)->thread->process,
				    ada_cause_root(&headline->cause)->wait_function_id);
}
