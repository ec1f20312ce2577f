/* From a tool's arguments to a command line. No shell sees that line, each value stands behind its "--option=", and arguments stand
 * behind "--": so a model's text can't become an option. */
#include "cli/mcp/tools.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/mcp/table.h"
#include "query/session/json.h"

#define TEXT_MAX (64u << 10) /* a system's limit on one argument is 128 KiB */

const struct ada_mcp_tool *ada_mcp_tool_find(const char *name)
{
	for (const struct ada_mcp_tool *tool = ada_mcp_table; tool->name; tool++)
		if (!strcmp(tool->name, name))
			return tool;
	return NULL;
}

/* --- what it takes ------------------------------------------------------------------------------------------------------ */

static json_object *strings(const char *const *texts)
{
	json_object *array = json_object_new_array();

	for (; *texts; texts++)
		json_object_array_add(array, json_object_new_string(*texts));
	return array;
}

static json_object *describe_parameter(const struct ada_mcp_parameter *parameter)
{
	static const char *const types[] = { [ADA_MCP_TEXT] = "string",
					     [ADA_MCP_NUMBER] = "integer",
					     [ADA_MCP_SWITCH] = "boolean",
					     [ADA_MCP_SESSION] = "string",
					     [ADA_MCP_WORDS] = "array" };
	json_object *schema = json_object_new_object(), *type;

	type = parameter->type == ADA_MCP_WORD ? strings((const char *const[]){ "string", "integer", NULL }) :
						 json_object_new_string(types[parameter->type]);
	json_object_object_add(schema, "type", type);
	json_object_object_add(schema, "description", json_object_new_string(parameter->description));
	if (parameter->type == ADA_MCP_WORDS) {
		json_object *item = json_object_new_object();

		json_object_object_add(item, "type", json_object_new_string("string"));
		json_object_object_add(schema, "items", item);
	}
	if (parameter->choices)
		json_object_object_add(schema, "enum", strings(parameter->choices));
	if (parameter->type == ADA_MCP_NUMBER) {
		json_object_object_add(schema, "minimum", json_object_new_int(0));
		if (parameter->max)
			json_object_object_add(schema, "maximum", json_object_new_uint64(parameter->max));
	}
	if (parameter->fallback && parameter->type == ADA_MCP_NUMBER)
		json_object_object_add(schema, "default", json_object_new_uint64(strtoull(parameter->fallback, NULL, 10)));
	else if (parameter->fallback)
		json_object_object_add(schema, "default", json_object_new_string(parameter->fallback));
	return schema;
}

static json_object *describe_tool(const struct ada_mcp_tool *tool, enum ada_mcp_version version)
{
	json_object *description = json_object_new_object(), *schema = json_object_new_object();
	json_object *properties = json_object_new_object(), *required = json_object_new_array();
	json_object *annotations = json_object_new_object();

	for (const struct ada_mcp_parameter *parameter = tool->parameters; parameter->name; parameter++) {
		json_object_object_add(properties, parameter->name, describe_parameter(parameter));
		if (parameter->required)
			json_object_array_add(required, json_object_new_string(parameter->name));
	}
	json_object_object_add(schema, "type", json_object_new_string("object"));
	json_object_object_add(schema, "properties", properties);
	json_object_object_add(schema, "required", required);
	json_object_object_add(schema, "additionalProperties", json_object_new_boolean(0));
	json_object_object_add(annotations, "title", json_object_new_string(tool->title));
	json_object_object_add(annotations, "readOnlyHint", json_object_new_boolean(!tool->acts));
	if (tool->acts)
		json_object_object_add(annotations, "destructiveHint", json_object_new_boolean(tool->records));
	json_object_object_add(annotations, "openWorldHint", json_object_new_boolean(tool->records));
	json_object_object_add(description, "name", json_object_new_string(tool->name));
	if (version >= ADA_MCP_2025_06_18)
		json_object_object_add(description, "title", json_object_new_string(tool->title));
	json_object_object_add(description, "description", json_object_new_string(tool->description));
	json_object_object_add(description, "inputSchema", schema);
	if (version >= ADA_MCP_2025_03_26)
		json_object_object_add(description, "annotations", annotations);
	else
		json_object_put(annotations);
	return description;
}

json_object *ada_mcp_tools(enum ada_mcp_version version, bool may_record)
{
	json_object *list = json_object_new_array();

	for (const struct ada_mcp_tool *tool = ada_mcp_table; tool->name; tool++)
		if (may_record || !tool->records)
			json_object_array_add(list, describe_tool(tool, version));
	return list;
}

/* --- what it is given --------------------------------------------------------------------------------------------------- */

static bool is_number(const json_object *value)
{
	return json_object_is_type(value, json_type_int) &&
	       (json_object_get_int64(value) >= 0 || json_object_get_uint64(value) > INT64_MAX);
}

static int check_text(const struct ada_mcp_parameter *parameter, const json_object *value, struct ada_error *error)
{
	json_object *text = (json_object *)value;
	size_t length = (size_t)json_object_get_string_len(value);
	const char *const *choice = parameter->choices;

	if (length > TEXT_MAX)
		return ada_error_set(error, EINVAL, "%s is longer than 64 KiB", parameter->name);
	if (strlen(json_object_get_string(text)) != length)
		return ada_error_set(error, EINVAL, "%s holds a NUL character", parameter->name);
	for (; choice && *choice; choice++)
		if (!strcmp(*choice, json_object_get_string(text)))
			return 0;
	return choice ? ada_error_set(error, EINVAL, "%s can't be '%.60s': its schema lists what it can be", parameter->name,
				      json_object_get_string(text)) :
			0;
}

static int check_words(const struct ada_mcp_parameter *parameter, const json_object *value, struct ada_error *error)
{
	int result = 0;

	if (!json_object_is_type(value, json_type_array))
		return ada_error_set(error, EINVAL, "%s is an array of strings", parameter->name);
	for (size_t i = 0; i < json_object_array_length(value) && !result; i++) {
		json_object *word = json_object_array_get_idx(value, i);

		result = json_object_is_type(word, json_type_string) ?
				 check_text(parameter, word, error) :
				 ada_error_set(error, EINVAL, "%s is an array of strings", parameter->name);
	}
	return result;
}

static int check_value(const struct ada_mcp_parameter *parameter, const json_object *value, struct ada_error *error)
{
	switch (parameter->type) {
	case ADA_MCP_WORD:
		if (is_number(value))
			return 0;
		/* fallthrough */
	case ADA_MCP_TEXT:
	case ADA_MCP_SESSION:
		if (json_object_is_type(value, json_type_string))
			return check_text(parameter, value, error);
		return ada_error_set(error, EINVAL, "%s is a string", parameter->name);
	case ADA_MCP_NUMBER:
		if (!is_number(value))
			return ada_error_set(error, EINVAL, "%s is a whole number from 0 on", parameter->name);
		if (parameter->max && json_object_get_uint64(value) > parameter->max)
			return ada_error_set(error, EINVAL, "%s is at most %llu", parameter->name, (unsigned long long)parameter->max);
		return 0;
	case ADA_MCP_WORDS: return check_words(parameter, value, error);
	case ADA_MCP_SWITCH: break;
	}
	return json_object_is_type(value, json_type_boolean) ? 0 : ada_error_set(error, EINVAL, "%s is true or false", parameter->name);
}

static int fail_unknown(const struct ada_mcp_tool *tool, const char *name, struct ada_error *error)
{
	char names[256] = "";
	size_t length = 0;

	for (const struct ada_mcp_parameter *parameter = tool->parameters; parameter->name && length < sizeof names; parameter++)
		length += (size_t)snprintf(names + length, sizeof names - length, "%s%s", length ? ", " : "", parameter->name);
	return ada_error_set(error, EINVAL, "%s has no argument '%.60s': it has %s", tool->name, name, names);
}

int ada_mcp_tool_check(const struct ada_mcp_tool *tool, const json_object *arguments, struct ada_error *error)
{
	const struct ada_mcp_parameter *parameter;
	struct json_object_iter field;

	for (parameter = tool->parameters; parameter->name; parameter++)
		if (parameter->required && !ada_json_get(arguments, parameter->name))
			return ada_error_set(error, EINVAL, "%s needs the argument '%s'", tool->name, parameter->name);
	if (!arguments)
		return 0;
	if (!json_object_is_type(arguments, json_type_object))
		return ada_error_set(error, EINVAL, "arguments is an object");
	json_object_object_foreachC(arguments, field) {
		int result;

		for (parameter = tool->parameters; parameter->name && strcmp(parameter->name, field.key); parameter++)
			;
		if (!parameter->name)
			return fail_unknown(tool, field.key, error);
		/* Some clients send null for a parameter that wasn't given. */
		if (!field.val && !parameter->required)
			continue;
		result = check_value(parameter, field.val, error);
		if (result)
			return result;
	}
	return 0;
}

/* --- the command line --------------------------------------------------------------------------------------------------- */

int ada_mcp_word(ada_mcp_words *words, const char *format, ...)
{
	va_list arguments;
	char *word;
	int length;

	va_start(arguments, format);
	length = vasprintf(&word, format, arguments);
	va_end(arguments);
	if (length < 0)
		return -ENOMEM;
	if (!ada_array_push(words, word))
		return 0;
	free(word);
	return -ENOMEM;
}

/* Each of an array's texts, behind `before`. */
static int add_words(const char *before, json_object *array, ada_mcp_words *words)
{
	int result = 0;

	for (size_t i = 0; i < ada_json_length(array) && !result; i++)
		result = ada_mcp_word(words, "%s%s%s", before, *before ? "=" : "",
				      json_object_get_string(json_object_array_get_idx(array, i)));
	return result;
}

static int add_option(const struct ada_mcp_parameter *parameter, const char *root, json_object *value, ada_mcp_words *words,
		      struct ada_error *error)
{
	char path[PATH_MAX];
	int result;

	if (parameter->type == ADA_MCP_SWITCH)
		return json_object_get_boolean(value) ? ada_mcp_word(words, "%s", parameter->option) : 0;
	if (parameter->type == ADA_MCP_WORDS)
		return add_words(parameter->option, value, words);
	if (parameter->type != ADA_MCP_SESSION)
		return value || parameter->fallback ? ada_mcp_word(words, "%s=%s", parameter->option,
								   value ? json_object_get_string(value) : parameter->fallback) :
						      0;
	if (!value)
		return 0;
	result = ada_mcp_session_find(root, json_object_get_string(value), path, error);
	return result ? result : ada_mcp_word(words, "%s=%s", parameter->option, path);
}

static int add_arguments(const struct ada_mcp_tool *tool, const char *root, json_object *arguments, ada_mcp_words *words,
			 struct ada_error *error)
{
	const struct ada_mcp_parameter *parameter = tool->parameters;
	char path[PATH_MAX];
	int result = ada_mcp_word(words, "--");

	if (!result && parameter->type == ADA_MCP_SESSION)
		result = ada_mcp_session_find(root, ada_json_text(arguments, parameter->name, NULL), path, error);
	if (!result && parameter->type == ADA_MCP_SESSION)
		result = ada_mcp_word(words, "%s", path);
	for (; parameter->name && !result; parameter++) {
		json_object *value = ada_json_get(arguments, parameter->name);

		if (!value || !parameter->option || *parameter->option || parameter->type == ADA_MCP_SESSION)
			continue;
		if (parameter->type == ADA_MCP_WORDS)
			result = add_words("", value, words);
		else
			result = ada_mcp_word(words, "%s", json_object_get_string(value));
	}
	return result;
}

int ada_mcp_tool_words(const struct ada_mcp_tool *tool, const char *root, json_object *arguments, ada_mcp_words *words,
		       struct ada_error *error)
{
	int result = ada_mcp_word(words, "ada") || ada_mcp_word(words, "%s", tool->command) ? -ENOMEM : 0;

	for (const struct ada_mcp_parameter *parameter = tool->parameters; parameter->name && !result; parameter++)
		if (parameter->option && *parameter->option)
			result = add_option(parameter, root, ada_json_get(arguments, parameter->name), words, error);
	if (!result && tool->arrange)
		result = tool->arrange(root, arguments, words, error);
	if (!result)
		result = add_arguments(tool, root, arguments, words, error);
	if (!result)
		result = ada_array_push(words, NULL);
	return result == -ENOMEM ? ada_error_set(error, ENOMEM, "out of memory") : result;
}

void ada_mcp_words_free(ada_mcp_words *words)
{
	for (size_t i = 0; i < words->count; i++)
		free(words->items[i]);
	ada_array_free(words);
}
