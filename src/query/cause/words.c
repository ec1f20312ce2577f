/* Causes in words: objects, and the paths on which somebody came to hold or wait. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "query/cause/internal.h"

#define FRAMES_MAX 12 /* of a path, the innermost ones */

char *ada_cause_object_text(const struct ada_cause_link *link, char text[ADA_CAUSE_OBJECT])
{
	if (link->kind == ADA_CAUSE_IO || link->kind == ADA_CAUSE_MESSAGE)
		snprintf(text, ADA_CAUSE_OBJECT, "descriptor %" PRIu64, link->object);
	else
		snprintf(text, ADA_CAUSE_OBJECT, "0x%" PRIx64, link->object);
	return text;
}

static void put_path(FILE *stream, const struct ada_process *process, const struct ada_stack *path, bool full_names)
{
	size_t first = path->frames.count > FRAMES_MAX ? path->frames.count - FRAMES_MAX : 0;
	char name[ADA_NAME_BUFFER], text[ADA_NAME_BUFFER];

	if (first)
		fputs("... > ", stream);
	for (size_t i = first; i < path->frames.count; i++) {
		uint64_t id = path->frames.items[i].function_id;

		const char *function = ada_module_function(ada_process_module(process, id), id, name);

		fprintf(stream, "%s%s", i > first ? " > " : "", full_names ? function : ada_name_short(function, text));
	}
}

char *ada_cause_path_text(const struct ada_process *process, const struct ada_stack *path, bool full_names)
{
	char *text = NULL;
	size_t length;
	FILE *stream = open_memstream(&text, &length);

	if (!stream)
		return NULL;
	put_path(stream, process, path, full_names);
	if (!fclose(stream))
		return text;
	free(text);
	return NULL;
}

void ada_cause_culprit(const struct ada_cause *cause, struct ada_culprit *culprit)
{
	const struct ada_cause_link *root = ada_cause_root(cause), *first = &cause->links.items[0];
	const struct ada_cause_link *before = cause->links.count > 1 ? root - 1 : NULL;
	const struct ada_cause_link *holds = cause->deadlock ? first : before ? before : root; /* or ended the wait */
	bool one_thing = root->kind != ADA_CAUSE_UNKNOWN && root->spent_ns * 2 >= root->end_ns - root->start_ns;

	*culprit = (struct ada_culprit){};
	if (cause->deadlock || (before && !one_thing) || (!before && root->culprit)) {
		/* In a deadlock whoever has what the call waits for. What a holder did meanwhile is not always one thing: then the place where it took
		 * the object, or ended the wait, says more. */
		culprit->thread = holds->culprit;
		culprit->path = &holds->culprit_path;
	} else if (before || (root->kind != ADA_CAUSE_UNKNOWN && root->kind != ADA_CAUSE_LOCK && root->kind != ADA_CAUSE_CONDITION &&
			      (root->kind < ADA_CAUSE_PREEMPTED || root->kind > ADA_CAUSE_THROTTLED))) {
		culprit->thread = root->thread;
		culprit->path = &root->path;
		culprit->kind = root->kind;
	}
	if (culprit->thread) {
		culprit->start_ns = holds->culprit ? holds->culprit_start_ns : root->wait_start_ns;
		culprit->end_ns = holds->culprit ? holds->culprit_end_ns : root->wait_end_ns;
	}
	if (before && !cause->deadlock && root->kind == ADA_CAUSE_PREEMPTED && root->culprit) {
		culprit->rival = root->culprit;
		culprit->rival_path = &root->culprit_path;
	}
}

double ada_cause_share(const struct ada_cause_link *link)
{
	uint64_t all_ns = link->look_ns ? link->look_ns : link->end_ns - link->start_ns;

	return all_ns ? round(1e6 * (double)link->spent_ns / (double)all_ns) / 1e6 : 0;
}
