/* The sentences that bear a headline out. */
#include <inttypes.h>
#include <string.h>
#include "base/units.h"
#include "query/headline/internal.h"

/* What a loop calls: ", 30 ms in onig_search (5,000 calls)" */
static void put_beside(struct ada_story *story, FILE *stream, const struct ada_cause_link *link)
{
	char name[ADA_WORDS_NAME], text[ADA_UNITS_TEXT], count[ADA_WORDS];

	for (size_t i = 0; i < ADA_BESIDE && link->beside[i].ns; i++)
		fprintf(stream, ", %s in %s (%s call%s)", ada_format_duration(link->beside[i].ns, text),
			ada_words_function(story, link->thread->process, link->beside[i].function_id, name),
			ada_format_grouped(link->beside[i].spells, count), ada_words_s(link->beside[i].spells));
}

/* A function in which the thread had no processor, or waited for a page, took more than that time. */
static const char *how_spent(const struct ada_cause_link *link)
{
	switch (link->kind) {
	case ADA_CAUSE_PREEMPTED:
	case ADA_CAUSE_RUNQUEUE:
	case ADA_CAUSE_THROTTLED:
	case ADA_CAUSE_STEAL: return "had no processor for";
	default: return link->off_cpu ? "did not run for" : "spent";
	}
}

static void tell_spent(struct ada_story *story, const struct ada_cause_link *link, bool first)
{
	char name[ADA_WORDS_NAME], spent[ADA_UNITS_TEXT], all[ADA_UNITS_TEXT], from[ADA_WORDS];
	const char *how = how_spent(link);
	struct ada_telling telling;

	if (!ada_telling_open(story, &telling))
		return;
	ada_words_function(story, link->thread->process, link->wait_function_id, name);
	ada_format_duration(link->spent_ns, spent);
	ada_format_duration(link->look_ns ? link->look_ns : ada_cause_took(link), all);
	if (first)
		fprintf(telling.stream, "On thread %u it began at %s; it %s %s of %s %s", link->thread->number,
			ada_words_time(story, link->start_ns, from), how, spent, link->look_ns ? "these" : "its", all);
	else
		fprintf(telling.stream, "Meanwhile thread %u %s %s of %s%s", link->thread->number, how, spent, all,
			link->part ? ", a part that was read," : "");
	fprintf(telling.stream, " in %s%s", link->kind == ADA_CAUSE_RECORDER ? "the recorder, under " : "", name);
	ada_headline_put_faults(story, telling.stream, link);
	put_beside(story, telling.stream, link);
	fputs(link->beside[0].ns ? "; the first of these in " : ", in ", telling.stream);
	ada_headline_put_path(story, telling.stream, link->thread->process, &link->path);
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
		ada_headline_put_object(story, telling.stream, link);
		fprintf(telling.stream, " at %s", to);
	} else if (link->kind == ADA_CAUSE_LOCK) {
		fputs(link->once ? "began to initialise " : link->culprit_longer ? "had " : "took ", telling.stream);
		ada_headline_put_object(story, telling.stream, link);
		fprintf(telling.stream, " at %s%s", from, link->culprit_longer ? " already" : "");
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
	} else if (link->joined) {
		fprintf(telling.stream, "has not ended at %s", to);
	} else {
		fprintf(telling.stream, "%s at %s", link->came_before ? "signalled before," : "ended the wait", to);
	}
	fputs(", in ", telling.stream);
	ada_headline_put_path(story, telling.stream, link->culprit->process, &link->culprit_path);
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
	if (headline->found && ada_headline_is_of_crash(headline))
		ada_headline_tell_other(story, headline, "There was a slow call, too. ");
	for (size_t i = 0; headline->found && i < headline->cause.links.count && i < LINKS_TOLD; i++) {
		tell_spent(story, &headline->cause.links.items[i], !i && !headline->is_span);
		if (headline->cause.links.items[i].culprit)
			tell_culprit(story, &headline->cause.links.items[i]);
	}
	if (headline->other && headline->cause.links.count < LINKS_TOLD) /* no more than eight sentences */
		ada_headline_tell_other(story, headline->other, "There is another cause beside it. ");
	if (headline->found && !headline->cause.deadlock && is_its_own(ada_cause_root(&headline->cause)->kind))
		ada_narrate_library(story, ada_cause_root(&headline->cause)->thread->process,
				    ada_cause_root(&headline->cause)->wait_function_id);
}
