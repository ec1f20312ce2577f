/* A headline for programs: the columns of SQL's table causes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "query/headline/headline.h"

static void add_text(struct ada_story *story, json_object *object, const char *name, const char *text)
{
	char *copy = text ? ada_output_utf8_copy(text) : NULL;

	if (text && !copy)
		story->result = -12;
	json_object_object_add(object, name, copy ? json_object_new_string(copy) : NULL);
	free(copy);
}

static void add_path(struct ada_story *story, json_object *object, const char *name, const struct ada_process *process,
		     const struct ada_stack *path)
{
	char *text = path ? ada_cause_path_text(process, path, false) : NULL;

	if (path && !text)
		story->result = -ENOMEM;
	add_text(story, object, name, text);
	free(text);
}

static void add_calls(struct ada_story *story, json_object *object, const struct ada_cause *cause, const struct ada_culprit *culprit)
{
	char *text = culprit->thread ? ada_cause_calls_text(cause, culprit->thread, culprit->path, false) : NULL;

	if (culprit->thread && !text)
		story->result = -ENOMEM;
	add_text(story, object, "culprit_calls", text);
	free(text);
}

static void add_culprit(struct ada_story *story, json_object *object, struct ada_cause_reader *reader, const struct ada_cause *cause)
{
	const struct ada_process *process = cause->links.items[0].thread->process;
	struct ada_culprit culprit;
	char name[ADA_NAME_BUFFER];
	uint64_t own;

	ada_cause_culprit(cause, &culprit);
	own = culprit.thread ? ada_cause_own_function(reader, process, culprit.path) : ADA_NO_FUNCTION;
	json_object_object_add(object, "culprit_thread", culprit.thread ? json_object_new_uint64(culprit.thread->number) : NULL);
	add_text(story, object, "culprit_function",
		 own == ADA_NO_FUNCTION ? NULL : ada_module_function(ada_process_module(process, own), own, name));
	add_path(story, object, "culprit_path", process, culprit.thread ? culprit.path : NULL);
	add_calls(story, object, cause, &culprit);
	json_object_object_add(object, "culprit_start_ns", culprit.thread ? json_object_new_uint64(culprit.start_ns) : NULL);
	json_object_object_add(object, "culprit_end_ns", culprit.thread ? json_object_new_uint64(culprit.end_ns) : NULL);
	add_text(story, object, "culprit_kind", culprit.kind == ADA_CAUSE_UNKNOWN ? NULL : ada_cause_kind_name(culprit.kind));
	json_object_object_add(object, "rival_thread", culprit.rival ? json_object_new_uint64(culprit.rival->number) : NULL);
	add_path(story, object, "rival_path", process, culprit.rival_path);
}

/* As table marks has it. */
static void add_span(json_object *object, const struct ada_mark_span *span)
{
	bool known = span->position != UINT64_MAX;

	json_object_object_add(object, "key", json_object_new_string(span->key));
	json_object_object_add(object, "begin_thread", span->thread ? json_object_new_uint64(span->thread->number) : NULL);
	json_object_object_add(object, "begin_index_seq", known ? json_object_new_uint64(span->position) : NULL);
}

char *ada_headline_json(struct ada_story *story, struct ada_cause_reader *reader, const struct ada_headline *headline)
{
	const struct ada_cause_link *link = headline->cause.links.items;
	json_object *object;
	char text[ADA_CAUSE_OBJECT], name[ADA_NAME_BUFFER], *json;
	const struct ada_process *process;

	if (!headline->found)
		return strdup("null");
	object = json_object_new_object();
	if (!object)
		return NULL;
	process = link->thread->process;
	json_object_object_add(object, "window", headline->window == ADA_NO_WINDOW ? NULL : json_object_new_uint64(headline->window));
	json_object_object_add(object, "thread", json_object_new_uint64(link->thread->number));
	json_object_object_add(object, "index_seq", json_object_new_uint64(link->position));
	add_text(story, object, "function", ada_module_function(ada_process_module(process, link->function_id), link->function_id, name));
	json_object_object_add(object, "duration_ns", json_object_new_uint64(headline->took_ns));
	add_text(story, object, "kind", ada_cause_kind_name(ada_cause_kind_of(&headline->cause)));
	add_text(story, object, "function_waited",
		 ada_module_function(ada_process_module(process, link->wait_function_id), link->wait_function_id, name));
	add_text(story, object, "object", link->has_object ? ada_cause_object_text(link, text) : NULL);
	add_culprit(story, object, reader, &headline->cause);
	json_object_object_add(object, "share", json_object_new_double(ada_cause_share(link)));
	if (headline->is_span)
		add_span(object, &headline->span);
	json = strdup(json_object_to_json_string_ext(object, JSON_C_TO_STRING_SPACED));
	json_object_put(object);
	return json;
}
