/* Makes the result of tools/call of what a command printed: the text as it is and, where that is JSON, the object beside it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include "base/output.h"
#include "cli/mcp/call.h"
#include "query/session/json.h"

#define DEPTH 1024 /* of an answer's JSON */

static json_object *content_of(json_object *text)
{
	json_object *item = json_object_new_object();

	json_object_object_add(item, "type", json_object_new_string("text"));
	json_object_object_add(item, "text", text);
	return item;
}

/* Makes any text fit for JSON: what is no UTF-8 becomes U+FFFD. */
static json_object *clean(const char *text)
{
	char *quoted = ada_output_prepare(ADA_FORMAT_JSON, text);
	json_object *string = quoted ? json_tokener_parse(quoted) : NULL;

	free(quoted);
	return string ? string : json_object_new_string("");
}

/* Printed bytes as a string without its last newline. A NUL would end it early. */
static char *string_of(const char *bytes, size_t length)
{
	char *text = malloc(length + 1);

	if (!text)
		return NULL;
	if (length)
		memcpy(text, bytes, length);
	for (size_t i = 0; i < length; i++)
		text[i] = text[i] ? text[i] : '?';
	while (length && text[length - 1] == '\n')
		length--;
	text[length] = 0;
	return text;
}

static json_object *new_result(json_object *text, bool failed)
{
	json_object *result = json_object_new_object(), *content = json_object_new_array();

	json_object_array_add(content, content_of(text));
	json_object_object_add(result, "content", content);
	json_object_object_add(result, "isError", json_object_new_boolean(failed));
	return result;
}

json_object *ada_mcp_call_failure(const char *text)
{
	return new_result(clean(text), true);
}

json_object *ada_mcp_call_object(json_object *object, enum ada_mcp_version version)
{
	json_object *result = new_result(json_object_new_string(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN)), false);

	if (version >= ADA_MCP_2025_06_18)
		json_object_object_add(result, "structuredContent", object);
	else
		json_object_put(object);
	return result;
}

json_object *ada_mcp_call_text(const char *bytes, size_t length)
{
	char *text = string_of(bytes, length);
	json_object *string = clean(text ? text : "");

	free(text);
	return string;
}

/* Reads JSON Lines: a row a line, and a last object about all of them. NULL: something else. */
static json_object *parse_lines(const char *text)
{
	json_object *object = json_object_new_object(), *rows = json_object_new_array();

	json_object_object_add(object, "rows", rows);
	while (*text) {
		size_t length = strcspn(text, "\n");
		const char *wrong;
		json_object *line = ada_mcp_parse(text, length, DEPTH, &wrong);
		struct json_object_iter field;

		text += length + (text[length] == '\n');
		if (!json_object_is_type(line, json_type_object)) {
			json_object_put(line);
			json_object_put(object);
			return NULL;
		}
		if (!ada_json_get(line, "completeness")) {
			json_object_array_add(rows, line);
			continue;
		}
		json_object_object_foreachC(line, field)
			json_object_object_add(object, field.key, json_object_get(field.val));
		json_object_put(line);
	}
	return object;
}

/* NULL: it is none. */
static json_object *parse_object(const struct ada_mcp_call *call, const char *text)
{
	const char *wrong;
	json_object *object;

	if (call->tool->lines)
		return parse_lines(text);
	object = ada_mcp_parse(text, strlen(text), DEPTH, &wrong);
	if (json_object_is_type(object, json_type_object))
		return object;
	json_object_put(object);
	return NULL;
}

/* Leaves whole lines of a text that was cut; in JSON these are whole rows. */
static void cut_lines(char *text)
{
	char *end = strrchr(text, '\n');

	if (end)
		*end = 0;
}

/* The rows that are left of a cut answer. NULL: the answer has another form. */
static json_object *salvage(const struct ada_mcp_call *call, const char *text)
{
	size_t length = strlen(text);
	char *closed = NULL;
	json_object *object;

	if (call->tool->lines)
		object = parse_lines(text);
	else if (asprintf(&closed, "%.*s]}", (int)(length && text[length - 1] == ',' ? length - 1 : length), text) >= 0)
		object = parse_object(call, closed);
	else
		object = NULL;
	free(closed);
	if (object)
		json_object_object_add(object, "cut", json_object_new_boolean(1));
	return object;
}

static void add_note(json_object *result, const char *note)
{
	json_object_array_add(ada_json_get(result, "content"), content_of(clean(note)));
}

static json_object *failure_of(const struct ada_mcp_call *call, const char *complaint)
{
	char text[512];

	if (call->timed_out)
		snprintf(text, sizeof text, "%s took too long and was stopped: %s", call->tool->name, call->tool->narrow);
	else if (WIFSIGNALED(call->status))
		snprintf(text, sizeof text, "%s died of signal %d (%s): `ada verify` may say what is wrong with the recording",
			 call->tool->name, WTERMSIG(call->status), strsignal(WTERMSIG(call->status)));
	else if (*complaint)
		return ada_mcp_call_failure(complaint);
	else
		snprintf(text, sizeof text, "%s ended with status %d", call->tool->name, WEXITSTATUS(call->status));
	return ada_mcp_call_failure(text);
}

/* A tool without formats has text. */
static bool is_json(const struct ada_mcp_call *call)
{
	const struct ada_mcp_parameter *parameter = call->tool->parameters;

	while (parameter->name && strcmp(parameter->name, "format"))
		parameter++;
	return parameter->name && !strcmp(ada_json_text(call->arguments, "format", parameter->fallback), "json");
}

static json_object *answer_of(const struct ada_mcp_call *call, char *text, const char *complaint, enum ada_mcp_version version)
{
	json_object *object = NULL, *result;
	char note[512];
	bool json = is_json(call);

	if (call->cut)
		cut_lines(text);
	result = new_result(clean(text), false);
	if (json)
		object = call->cut ? salvage(call, text) : parse_object(call, text);
	if (json && !object && !call->cut)
		json_object_object_add(result, "isError", json_object_new_boolean(1));
	if (object && version >= ADA_MCP_2025_06_18)
		json_object_object_add(result, "structuredContent", object);
	else
		json_object_put(object);
	if (call->cut) {
		snprintf(note, sizeof note, "The answer is longer than %u KiB and was cut here: %s", ADA_MCP_ANSWER_BYTES >> 10,
			 call->tool->narrow);
		add_note(result, note);
	} else if (*complaint) {
		add_note(result, complaint);
	}
	return result;
}

json_object *ada_mcp_call_answer(const struct ada_mcp_call *call, enum ada_mcp_version version)
{
	size_t length = call->printed.count < ADA_MCP_ANSWER_BYTES ? call->printed.count : ADA_MCP_ANSWER_BYTES;
	char *text = string_of(call->printed.items, length);
	char *complaint = string_of(call->complaint.items, call->complaint.count);
	json_object *result;

	if (!text || !complaint)
		result = ada_mcp_call_failure("out of memory");
	else if (call->timed_out || (!call->cut && (WIFSIGNALED(call->status) || (!*text && call->status))))
		result = failure_of(call, complaint);
	else
		result = answer_of(call, text, complaint, version);
	free(text);
	free(complaint);
	return result;
}
