/* Messages of ada mcp: any line is a message, or is refused with one line. A call's arguments fit their tool or are refused; those
 * that fit make a command line on which each text stays behind its option, or behind "--". */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "cli/mcp/tools.h"
#include "query/session/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* Stands for sessions below a directory: any name is one. */
int ada_mcp_session_find(const char *root, const char *name, char path[PATH_MAX], struct ada_error *error)
{
	return snprintf(path, PATH_MAX, "%s/session", root) > 0 ? 0 : -1;
}

static void check_words(const struct ada_mcp_tool *tool, json_object *arguments)
{
	ada_mcp_words words = {};
	struct ada_error error = { "" };
	bool options = true;

	if (tool->command && !ada_mcp_tool_words(tool, "/root", arguments, &words, &error)) {
		assert(words.count > 3 && !words.items[words.count - 1] && !strcmp(words.items[1], tool->command));
		for (size_t i = 2; i + 1 < words.count; i++) {
			assert(!options || !strncmp(words.items[i], "--", 2));
			options = options && strcmp(words.items[i], "--");
		}
		assert(!options);
	} else {
		assert(!tool->command || error.text[0]);
	}
	ada_mcp_words_free(&words);
}

static void check_call(const struct ada_mcp_message *message)
{
	const struct ada_mcp_tool *tool = ada_mcp_tool_find(ada_json_text(message->params, "name", ""));
	json_object *arguments = ada_json_get(message->params, "arguments");
	struct ada_error error = { "" };

	if (!tool)
		return;
	if (!ada_mcp_tool_check(tool, arguments, &error))
		check_words(tool, arguments);
	else
		assert(error.text[0] && !strchr(tool->name, '\n'));
}

static void check_message(json_object *value)
{
	struct ada_mcp_message message;
	json_object *response;

	ada_mcp_decode(value, &message);
	assert((message.kind == ADA_MCP_INVALID) == (message.wrong != NULL));
	assert((message.kind == ADA_MCP_REQUEST || message.kind == ADA_MCP_NOTIFICATION) == (message.method != NULL));
	response = message.wrong ? ada_mcp_error(message.id, ADA_MCP_NO_REQUEST, "%s", message.wrong) :
				   ada_mcp_result(message.id, json_object_new_object());
	assert(!strchr(json_object_to_json_string_ext(response, JSON_C_TO_STRING_PLAIN), '\n'));
	json_object_put(response);
	if (message.kind == ADA_MCP_REQUEST)
		check_call(&message);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	const char *wrong = NULL;
	json_object *value = ada_mcp_parse((const char *)bytes, length, ADA_MCP_DEPTH, &wrong);

	if (value)
		check_message(value);
	json_object_put(value);
	return 0;
}
