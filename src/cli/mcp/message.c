#include "cli/mcp/message.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "query/session/json.h"

static const char *const version_names[] = {
	[ADA_MCP_2024_11_05] = "2024-11-05", [ADA_MCP_2025_03_26] = "2025-03-26", [ADA_MCP_2025_06_18] = "2025-06-18"
};

json_object *ada_mcp_parse(const char *text, size_t length, int depth, const char **wrong)
{
	struct json_tokener *tokener;
	enum json_tokener_error reason;
	json_object *value;

	/* json-c ends at a NUL as if the text did. */
	if (memchr(text, 0, length)) {
		*wrong = "a NUL byte";
		return NULL;
	}
	tokener = json_tokener_new_ex(depth);
	if (!tokener) {
		*wrong = "out of memory";
		return NULL;
	}
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	value = json_tokener_parse_ex(tokener, text, (int)length);
	reason = json_tokener_get_error(tokener);
	if (reason == json_tokener_continue) {
		/* The parser takes a number at the very end for whole only when something follows. */
		value = json_tokener_parse_ex(tokener, "\n", 1);
		reason = json_tokener_get_error(tokener);
	}
	if (reason != json_tokener_success) {
		json_object_put(value);
		value = NULL;
		*wrong = reason == json_tokener_continue ? "it ends too early" : json_tokener_error_desc(reason);
	} else {
		*wrong = NULL;
	}
	json_tokener_free(tokener);
	return value;
}

static const char *wrong_of(json_object *value, struct ada_mcp_message *message)
{
	json_object *id = NULL, *method = NULL, *params = NULL;

	if (!json_object_is_type(value, json_type_object))
		return "a message is an object";
	if (json_object_object_get_ex(value, "id", &id)) {
		if (!json_object_is_type(id, json_type_string) && !json_object_is_type(id, json_type_int))
			return "id is a string or a whole number";
		message->id = id;
	}
	if (strcmp(ada_json_text(value, "jsonrpc", ""), "2.0"))
		return "jsonrpc is \"2.0\"";
	if (!json_object_object_get_ex(value, "method", &method)) {
		if (!message->id || (!json_object_object_get_ex(value, "result", NULL) && !json_object_object_get_ex(value, "error", NULL)))
			return "it has no method";
		message->kind = ADA_MCP_RESPONSE;
		return NULL;
	}
	if (!json_object_is_type(method, json_type_string))
		return "method is a string";
	if (json_object_object_get_ex(value, "params", &params) && !json_object_is_type(params, json_type_object))
		return "params is an object";
	message->method = json_object_get_string(method);
	message->params = params;
	message->kind = message->id ? ADA_MCP_REQUEST : ADA_MCP_NOTIFICATION;
	return NULL;
}

void ada_mcp_decode(json_object *value, struct ada_mcp_message *message)
{
	*message = (struct ada_mcp_message){};
	message->wrong = wrong_of(value, message);
	if (message->wrong)
		message->kind = ADA_MCP_INVALID;
}

enum ada_mcp_version ada_mcp_version_of(const char *name)
{
	enum ada_mcp_version version = ADA_MCP_2025_06_18;

	while (version > ADA_MCP_2024_11_05 && strcmp(name, version_names[version]))
		version--;
	return strcmp(name, version_names[version]) ? ADA_MCP_2025_06_18 : version;
}

const char *ada_mcp_version_name(enum ada_mcp_version version)
{
	return version_names[version];
}

static json_object *new_response(json_object *id)
{
	json_object *response = json_object_new_object();

	json_object_object_add(response, "jsonrpc", json_object_new_string("2.0"));
	json_object_object_add(response, "id", json_object_get(id));
	return response;
}

json_object *ada_mcp_result(json_object *id, json_object *result)
{
	json_object *response = new_response(id);

	json_object_object_add(response, "result", result);
	return response;
}

json_object *ada_mcp_error(json_object *id, enum ada_mcp_code code, const char *format, ...)
{
	json_object *response = new_response(id), *error = json_object_new_object();
	va_list arguments;
	char text[512];

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	json_object_object_add(error, "code", json_object_new_int(code));
	json_object_object_add(error, "message", json_object_new_string(text));
	json_object_object_add(response, "error", error);
	return response;
}
