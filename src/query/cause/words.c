/* Causes in words: objects, and the paths on which somebody came to hold or wait. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "query/cause/internal.h"
#include "query/session/windows.h"
#include "query/values/arguments.h"

#define FRAMES_MAX 12	 /* of a path, the innermost ones */
#define ARGUMENTS_MAX 60 /* bytes of a call's arguments in a path */

char *ada_cause_object_text(const struct ada_cause_link *link, char text[ADA_CAUSE_OBJECT])
{
	if (link->kind == ADA_CAUSE_IO || link->kind == ADA_CAUSE_MESSAGE)
		snprintf(text, ADA_CAUSE_OBJECT, "descriptor %" PRIu64, link->object);
	else
		snprintf(text, ADA_CAUSE_OBJECT, "0x%" PRIx64, link->object);
	return text;
}

/* What tells a reader something: of pointers what they point to, nothing of those whose target nobody has. What is left out is told by "...". */
static void put_arguments(FILE *stream, const struct ada_arguments *arguments)
{
	size_t left = ARGUMENTS_MAX;
	bool out = arguments->variadic;
	const char *before = "(";

	for (size_t i = 0; i < arguments->items.count; i++) {
		const struct ada_argument *argument = &arguments->items.items[i];
		size_t length = strlen(argument->name) + strlen(argument->text) + strlen("=, ");

		if (!argument->captured || argument->kind == ADA_ARGUMENT_POINTER || argument->kind == ADA_ARGUMENT_OPAQUE ||
		    length > left) {
			out = true;
			continue;
		}
		fprintf(stream, "%s%s%s%s", before, argument->name, *argument->name ? "=" : "", argument->text);
		before = ", ";
		left -= length;
	}
	if (left < ARGUMENTS_MAX)
		fputs(out ? ", ...)" : ")", stream);
}

/* Of a call whose detail was kept. */
static void put_arguments_of(FILE *stream, const struct ada_thread *thread, uint64_t position)
{
	struct ada_arguments arguments = {};
	struct atf_detail record;

	if (!ada_thread_detail(thread, position, &record) && !ada_arguments_decode(&arguments, thread, &record) && !arguments.is_return)
		put_arguments(stream, &arguments);
	ada_arguments_free(&arguments);
}

/* `thread`: whose calls these are, with the arguments of the innermost call of `own` and of the last one; NULL: names only. */
static void put_path(FILE *stream, const struct ada_process *process, const struct ada_stack *path, bool full_names,
		     const struct ada_thread *thread, uint64_t own)
{
	size_t told = path->frames.count; /* the frame of `own` */
	size_t first = path->frames.count > FRAMES_MAX ? path->frames.count - FRAMES_MAX : 0;
	char name[ADA_NAME_BUFFER], text[ADA_NAME_BUFFER];

	while (told && path->frames.items[told - 1].function_id != own)
		told--;
	if (first)
		fputs("... > ", stream);
	for (size_t i = first; i < path->frames.count; i++) {
		uint64_t id = path->frames.items[i].function_id;

		const char *function = ada_module_function(ada_process_module(process, id), id, name);

		fprintf(stream, "%s%s", i > first ? " > " : "", full_names ? function : ada_name_short(function, text));
		if (thread && (i + 1 == told || i + 1 == path->frames.count))
			put_arguments_of(stream, thread, path->frames.items[i].position);
	}
}

static char *path_text(const struct ada_process *process, const struct ada_stack *path, bool full_names, const struct ada_thread *thread,
		       uint64_t own)
{
	char *text = NULL;
	size_t length;
	FILE *stream = open_memstream(&text, &length);

	if (!stream)
		return NULL;
	put_path(stream, process, path, full_names, thread, own);
	if (!fclose(stream))
		return text;
	free(text);
	return NULL;
}

char *ada_cause_path_text(const struct ada_process *process, const struct ada_stack *path, bool full_names)
{
	return path_text(process, path, full_names, NULL, ADA_NO_FUNCTION);
}

char *ada_cause_calls_text(const struct ada_cause *cause, const struct ada_thread *thread, const struct ada_stack *path, bool full_names)
{
	return path_text(thread->process, path, full_names, thread, ada_cause_own_function(cause->reader, thread->process, path));
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

uint64_t ada_cause_took(const struct ada_cause_link *link)
{
	uint64_t all_ns = link->end_ns - link->start_ns;

	return link->kind == ADA_CAUSE_RECORDER || link->recorder_ns > all_ns ? all_ns : all_ns - link->recorder_ns;
}

double ada_cause_share(const struct ada_cause_link *link)
{
	uint64_t all_ns = link->look_ns ? link->look_ns : ada_cause_took(link);
	/* What ada took may lie within the waits. */
	uint64_t spent_ns = link->spent_ns < all_ns ? link->spent_ns : all_ns;

	return all_ns ? round(1e6 * (double)spent_ns / (double)all_ns) / 1e6 : 0;
}
