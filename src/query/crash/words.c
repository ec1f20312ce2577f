/* A crash's cause for programs: one JSON object. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/output.h"
#include "query/crash/internal.h"

static void add_text(json_object *object, const char *name, const char *text)
{
	char *copy = text ? ada_output_utf8_copy(text) : NULL;

	json_object_object_add(object, name, copy ? json_object_new_string(copy) : NULL);
	free(copy);
}

static void add_function(json_object *object, const char *name, const struct ada_process *process, uint64_t function_id)
{
	char buffer[ADA_NAME_BUFFER];

	add_text(object, name, ada_module_function(ada_process_module(process, function_id), function_id, buffer));
}

static void add_number(json_object *object, const char *name, bool known, uint64_t value)
{
	json_object_object_add(object, name, known ? json_object_new_uint64(value) : NULL);
}

static void add_address(json_object *object, const char *name, bool known, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof text, "0x%llx", (unsigned long long)value);
	add_text(object, name, known ? text : NULL);
}

static void add_path(json_object *object, const char *name, const struct ada_process *process, const struct ada_stack *path)
{
	json_object *array = path->frames.count ? json_object_new_array() : NULL;
	char buffer[ADA_NAME_BUFFER];

	for (size_t i = path->frames.count > 64 ? path->frames.count - 64 : 0; i < path->frames.count; i++) {
		uint64_t id = path->frames.items[i].function_id;
		char *copy = ada_output_utf8_copy(ada_module_function(ada_process_module(process, id), id, buffer));

		json_object_array_add(array, copy ? json_object_new_string(copy) : NULL);
		free(copy);
	}
	json_object_object_add(object, name, array);
}

char *ada_crash_json(const struct ada_crash_cause *cause)
{
	const struct ada_frame *frame = cause->path.frames.count ? &cause->path.frames.items[cause->frame] : NULL;
	json_object *object = json_object_new_object();
	const json_object *code = ada_json_get(ada_json_get(cause->process->manifest, "crash"), "code"); /* not above 0: sent */
	bool overflow = cause->kind == ADA_CRASH_OVERFLOW;
	const char *signal = sigabbrev_np(cause->signal);
	char name[24], *json;

	if (!object)
		return NULL;
	snprintf(name, sizeof name, "SIG%s", signal ? signal : "?");
	add_text(object, "kind", ada_crash_kind_name(cause->kind));
	add_text(object, "signal", name);
	add_address(object, "address", cause->recorded && json_object_get_int64(code) > 0, ada_crash_number(cause, "faultAddress"));
	add_number(object, "thread", cause->thread, cause->thread ? cause->thread->number : 0);
	add_number(object, "index_seq", frame, frame ? frame->position : 0);
	if (frame)
		add_function(object, "function", cause->process, frame->function_id);
	else
		add_text(object, "function", NULL);
	if (cause->in_muted)
		add_function(object, "muted_function", cause->process, cause->muted_id);
	else
		add_text(object, "muted_function", NULL);
	add_address(object, "object", cause->has_object, cause->object);
	add_text(object, "argument", cause->argument);
	add_text(object, "type", cause->type);
	add_text(object, "base", cause->base);
	add_text(object, "text", cause->text);
	add_text(object, "nested_type", cause->nested_type);
	add_text(object, "nested_text", cause->nested_text);
	add_text(object, "file", cause->file);
	add_number(object, "line", cause->file, cause->line);
	add_number(object, "depth", overflow, cause->depth);
	add_number(object, "stack_bytes", overflow && cause->bytes, cause->bytes);
	add_number(object, "culprit_thread", cause->culprit, cause->culprit ? cause->culprit->number : 0);
	add_number(object, "culprit_index_seq", cause->culprit, cause->culprit_position);
	add_number(object, "culprit_ns", cause->culprit, cause->culprit_ns);
	if (cause->culprit)
		add_function(object, "culprit_function", cause->process, cause->culprit_function_id);
	else
		add_text(object, "culprit_function", NULL);
	add_path(object, "culprit_path", cause->process, &cause->culprit_path);
	json = strdup(json_object_to_json_string_ext(object, JSON_C_TO_STRING_SPACED));
	json_object_put(object);
	return json;
}
