/* What a call waited for, who had or ended that, and what he did meanwhile. */
#include <inttypes.h>
#include <string.h>
#include "base/units.h"
#include "query/headline/internal.h"

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
		ada_headline_put_calls(story, stream, cause, culprit.thread, culprit.path);
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
	char name[ADA_WORDS];

	if (joins && link->culprit)
		fprintf(stream, "the end of %s", ada_words_thread(link->thread, link->culprit, name));
	else if (joins)
		fputs("the end of a thread", stream);
	else if (link->has_object)
		ada_headline_put_object(story, stream, link);
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
			ada_headline_put_object(story, stream, next);
			put_holder(stream, next);
		} else {
			put_awaited(story, stream, next);
			if (is_join(story, next))
				fputs(next->joined ? "" : ", then", stream);
			else
				fprintf(stream, ", which thread %u %s", next->culprit->number,
					next->came_before ? "had signalled before" : "ended");
		}
	}
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
	if (ada_headline_has_faults(story, last)) {
		fprintf(stream, ", %s of that", text);
		if (culprit.path != &last->path)
			fprintf(stream, " in %s", ada_words_function(story, last->thread->process, last->wait_function_id, name));
		ada_headline_put_faults(story, stream, last);
	}
	if (last->kind != ADA_CAUSE_PREEMPTED)
		return;
	fprintf(stream, ", %s of that without a processor", text);
	if (!last->culprit)
		return;
	fprintf(stream, ", which thread %u had in ", last->culprit->number);
	ada_headline_put_calls(story, stream, cause, last->culprit, &last->culprit_path);
}

void ada_headline_put_lock(struct ada_story *story, FILE *stream, const struct ada_cause *cause, bool open)
{
	const struct ada_cause_link *link = &cause->links.items[0];
	char name[ADA_WORDS_NAME];

	fprintf(stream, "%s for ", open ? "waits" : "waited");
	if (!link->has_object) {
		fprintf(stream, "a lock in %s; the recording doesn't say which, nor who held it",
			ada_words_function(story, link->thread->process, link->wait_function_id, name));
		return;
	}
	ada_headline_put_object(story, stream, link);
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

void ada_headline_put_deadlock(struct ada_story *story, FILE *stream, const struct ada_cause *cause)
{
	fprintf(stream, "is in a deadlock: ");
	for (size_t i = 0; i < cause->links.count; i++) {
		const struct ada_cause_link *link = &cause->links.items[i];

		fprintf(stream, "%sthread %u waits for ", i ? "; " : "", link->thread->number);
		if (link->joined)
			put_awaited(story, stream, link);
		else
			ada_headline_put_object(story, stream, link);
		fputs(" in ", stream);
		ada_headline_put_calls(story, stream, cause, link->thread, &link->path);
		if (link->joined)
			continue;
		if (link->culprit == link->thread)
			fputs(", which it holds itself", stream);
		else
			fprintf(stream, ", held by thread %u", link->culprit->number);
	}
}

void ada_headline_put_condition(struct ada_story *story, FILE *stream, const struct ada_cause *cause, bool open)
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
		if (link->joined)
			put_chain(story, stream, cause);
		put_whereabouts(story, stream, cause);
		put_roots_time(story, stream, cause);
	} else if (link->gave_up) {
		fputs(", which nobody signalled, until its time limit", stream);
	} else if (link->has_object && !joins) {
		fprintf(stream, ", which nobody is seen to %s", open ? "end" : "have ended");
	}
}

void ada_headline_put_writer(struct ada_story *story, FILE *stream, const struct ada_cause *cause)
{
	const struct ada_cause_link *link = &cause->links.items[0];
	char text[ADA_UNITS_TEXT];

	if (!link->culprit)
		return;
	fprintf(stream, ", until thread %u wrote to it after %s", link->culprit->number, ada_format_duration(held_ns(link), text));
	put_whereabouts(story, stream, cause);
	put_roots_time(story, stream, cause);
}

void ada_headline_put_preempted(struct ada_story *story, FILE *stream, const struct ada_cause *cause, bool open, bool several)
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
