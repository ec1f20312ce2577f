/* Words that a headline and its evidence share. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "query/headline/internal.h"

#define FAULTED_NS 10000 /* of what ran so long a page fault, these are told: they may be a part of it */

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

/* "mutex 0x7f..." */
void ada_headline_put_object(struct ada_story *story, FILE *stream, const struct ada_cause_link *link)
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

/* Whether page faults are most of what ran, or may be much of it. */
bool ada_headline_has_faults(const struct ada_cause_link *link)
{
	uint64_t longest_ns = link->spells > 1 ? link->wait_end_ns - link->wait_start_ns : link->spent_ns;

	return link->kind == ADA_CAUSE_FAULT || (link->kind == ADA_CAUSE_CPU && link->faults * FAULTED_NS >= longest_ns);
}

void ada_headline_put_faults(FILE *stream, const struct ada_cause_link *link)
{
	if (ada_headline_has_faults(link))
		fprintf(stream, " with %" PRIu64 " page faults%s%s", link->faults, link->off_cpu ? " that read from a disk" : "",
			link->spells > 1 && !link->off_cpu ? " in the longest call" : "");
}
