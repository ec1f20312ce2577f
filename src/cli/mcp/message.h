/* Messages of the Model Context Protocol: JSON-RPC 2.0, a line each. Nothing here has a state. */
#ifndef ADA_CLI_MCP_MESSAGE_H
#define ADA_CLI_MCP_MESSAGE_H
#include <json-c/json.h>
#include <stddef.h>

enum ada_mcp_code {
	ADA_MCP_NOT_JSON = -32700,
	ADA_MCP_NO_REQUEST = -32600,
	ADA_MCP_NO_METHOD = -32601,
	ADA_MCP_BAD_PARAMS = -32602,
};

/* Revisions of the protocol, oldest first. */
enum ada_mcp_version {
	ADA_MCP_UNKNOWN,
	ADA_MCP_2024_11_05,
	ADA_MCP_2025_03_26, /* annotations of tools */
	ADA_MCP_2025_06_18, /* titles, structured results; no batches */
};

enum ada_mcp_kind {
	ADA_MCP_REQUEST,
	ADA_MCP_NOTIFICATION,
	ADA_MCP_RESPONSE, /* to a request, of which we make none */
	ADA_MCP_INVALID,
};

/* All pointers are into the value that it was decoded from. */
struct ada_mcp_message {
	enum ada_mcp_kind kind;
	json_object *id; /* of a request, or of an invalid message whose id is fine: text or whole number. Else NULL */
	const char *method;
	json_object *params; /* an object; NULL: none */
	const char *wrong;   /* INVALID: what is */
};

#define ADA_MCP_DEPTH 32 /* of a message's JSON: the protocol needs six */

/* One JSON value and nothing behind it, nested at most `depth` deep. NULL: *wrong says why, or is NULL for null. */
json_object *ada_mcp_parse(const char *text, size_t length, int depth, const char **wrong);
void ada_mcp_decode(json_object *value, struct ada_mcp_message *message);

enum ada_mcp_version ada_mcp_version_of(const char *name); /* for an unknown name the newest */
const char *ada_mcp_version_name(enum ada_mcp_version version);

/* Responses. They take over `result`, and a reference to `id`; NULL is null. */
json_object *ada_mcp_result(json_object *id, json_object *result);
json_object *ada_mcp_error(json_object *id, enum ada_mcp_code code, const char *format, ...) __attribute__((format(printf, 3, 4)));
#endif
