/* What a window is about: the cause of its slowest marked call, and of how many calls and windows the same is true. */
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "query/narrate/parts.h"

#define MARKS_ASKED 16	/* of a window: the first ones; the others of these marks may be alike */
#define SLOW_NS 1000000 /* a call that a rule marked for another reason than its duration has a cause from here on */

static bool is_about_time(const char *kind)
{
	return !strncmp(kind, "latency", strlen("latency")) || (kind[0] == 'p' && kind[1] >= '0' && kind[1] <= '9');
}

/* The same for causes that a reader would tell in the same words, but for times. */
static uint64_t likeness(struct ada_cause_reader *reader, const struct ada_cause *cause)
{
	const struct ada_cause_link *link = &cause->links.items[0];
	const struct ada_process *process = link->thread->process;
	uint64_t words[5] = { ada_cause_kind_of(cause), ada_process_function_key(process, link->function_id),
			      ada_process_function_key(process, link->wait_function_id), link->kind == ADA_CAUSE_LOCK ? link->object : 0 };
	struct ada_culprit culprit;

	ada_cause_culprit(cause, &culprit);
	words[4] = culprit.thread ? ada_cause_own_function(reader, process, culprit.path) : ADA_NO_FUNCTION;
	return ada_hash_bytes(words, sizeof words) | 1;
}

static uint64_t took(const struct ada_cause *cause)
{
	return cause->links.items[0].end_ns - cause->links.items[0].start_ns;
}

void ada_headline_find(struct ada_story *story, struct ada_cause_reader *reader, uint64_t number, struct ada_headline *headline)
{
	const struct ada_recorded_window *window = &story->session->windows.items[number];
	const json_object *marks = ada_json_get(window->entry, "marks");
	uint64_t keys[MARKS_ASKED] = {};

	*headline = (struct ada_headline){ .window = number };
	for (size_t i = 0; i < ada_json_length(marks) && i < MARKS_ASKED && !story->result; i++) {
		const json_object *mark = json_object_array_get_idx(marks, i);
		struct ada_cause cause;

		story->result = ada_cause_of_mark(reader, window->process, mark, &cause);
		if (story->result || !cause.found || (took(&cause) < SLOW_NS && !is_about_time(ada_json_text(mark, "kind", "")))) {
			ada_cause_free(&cause);
			continue;
		}
		keys[i] = likeness(reader, &cause);
		if (headline->found && took(&cause) <= headline->took_ns) {
			ada_cause_free(&cause);
			continue;
		}
		ada_cause_free(&headline->cause);
		headline->cause = cause;
		headline->is_span = ada_mark_span(window->process, mark, &headline->span);
		headline->found = true;
		headline->took_ns = took(&cause);
		headline->key = keys[i];
	}
	for (size_t i = 0; i < MARKS_ASKED; i++)
		headline->calls += headline->key && keys[i] == headline->key;
}

void ada_headline_free(struct ada_headline *headline)
{
	ada_cause_free(&headline->cause);
	ada_crash_free(&headline->crash);
	headline->found = false;
}

/* --- for programs ------------------------------------------------------------------------------------------------------- */

static void add_text(struct ada_story *story, json_object *object, const char *name, const char *text)
{
	char *copy = text ? ada_output_utf8_copy(text) : NULL;

	if (text && !copy)
		story->result = -12;
	json_object_object_add(object, name, copy ? json_object_new_string(copy) : NULL);
	free(copy);
}

static void add_culprit(struct ada_story *story, json_object *object, struct ada_cause_reader *reader, const struct ada_cause *cause)
{
	const struct ada_process *process = cause->links.items[0].thread->process;
	struct ada_culprit culprit;
	char name[ADA_NAME_BUFFER], *path;
	uint64_t own;

	ada_cause_culprit(cause, &culprit);
	own = culprit.thread ? ada_cause_own_function(reader, process, culprit.path) : ADA_NO_FUNCTION;
	path = culprit.thread ? ada_cause_path_text(process, culprit.path, false) : NULL;
	json_object_object_add(object, "culprit_thread", culprit.thread ? json_object_new_uint64(culprit.thread->number) : NULL);
	add_text(story, object, "culprit_function",
		 own == ADA_NO_FUNCTION ? NULL : ada_module_function(ada_process_module(process, own), own, name));
	add_text(story, object, "culprit_path", path);
	json_object_object_add(object, "culprit_start_ns", culprit.thread ? json_object_new_uint64(culprit.start_ns) : NULL);
	json_object_object_add(object, "culprit_end_ns", culprit.thread ? json_object_new_uint64(culprit.end_ns) : NULL);
	free(path);
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
