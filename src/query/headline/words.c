/* Words that a headline and its evidence share. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include "query/headline/internal.h"

#define SOON_NS 1000000000 /* behind a wait comes the mark that is about it */
#define FAULTED_NS 10000   /* of what ran so long a page fault, these are told: they may be a part of it */
#define FAULTED_TIMES 5	   /* or than it took so often where the recorder tried */

void ada_headline_put_path(struct ada_story *story, FILE *stream, const struct ada_process *process, const struct ada_stack *path)
{
	char *text = ada_cause_path_text(process, path, story->options.full_names);

	if (!text)
		story->result = -ENOMEM;
	fputs(text ? text : "", stream);
	free(text);
}

/* The same, of the headline: with arguments. */
void ada_headline_put_calls(struct ada_story *story, FILE *stream, const struct ada_cause *cause, const struct ada_thread *thread,
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

/* "descriptor 7, a connection from 127.0.0.1:51234 (as it was at the mark)": of the mark right behind the wait, or when else that was. */
static void put_noted(FILE *stream, const struct ada_cause_link *link)
{
	char text[ADA_UNITS_TEXT];

	fprintf(stream, ", %s (as it was at ", link->noted);
	if (link->noted_ns < link->wait_start_ns)
		fprintf(stream, "a mark %s before)", ada_format_duration(link->wait_start_ns - link->noted_ns, text));
	else if (link->noted_ns > link->wait_end_ns + SOON_NS)
		fprintf(stream, "a mark %s later)", ada_format_duration(link->noted_ns - link->wait_end_ns, text));
	else
		fputs("the mark)", stream);
}

/* "mutex 0x7f..." */
void ada_headline_put_object(struct ada_story *story, FILE *stream, const struct ada_cause_link *link)
{
	bool by_number = link->kind == ADA_CAUSE_IO || link->kind == ADA_CAUSE_MESSAGE;
	char text[ADA_CAUSE_OBJECT];

	if (by_number && link->noted) {
		fputs(ada_cause_object_text(link, text), stream);
		put_noted(stream, link);
	} else if (by_number)
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

void ada_headline_put_waits_on(struct ada_story *story, FILE *stream, struct ada_cause_reader *reader, const struct ada_thread *thread,
			       uint64_t position, uint64_t now_ns)
{
	struct ada_cause_link link;

	if (ada_cause_waits_on(reader, thread, position, now_ns, &link) && (link.noted || link.opened || link.peer)) {
		fputs(", on ", stream);
		ada_headline_put_object(story, stream, &link);
	}
	ada_cause_link_free(&link);
}

/* Whether page faults are most of what ran, or may be much of it. */
bool ada_headline_has_faults(const struct ada_story *story, const struct ada_cause_link *link)
{
	uint64_t fault_ns = MAX(FAULTED_NS, FAULTED_TIMES * story->session->page_fault_ns);
	uint64_t longest_ns = link->spent_ns;

	if (link->spells > 1)
		longest_ns = link->ran_ns ? link->ran_ns : link->wait_end_ns - link->wait_start_ns;
	return link->kind == ADA_CAUSE_FAULT || (link->kind == ADA_CAUSE_CPU && link->faults * fault_ns >= longest_ns);
}

void ada_headline_put_faults(const struct ada_story *story, FILE *stream, const struct ada_cause_link *link)
{
	if (ada_headline_has_faults(story, link))
		fprintf(stream, " with %" PRIu64 " page faults%s%s", link->faults, link->off_cpu ? " that read from a disk" : "",
			link->spells > 1 && !link->off_cpu ? " in the longest call" : "");
}
