/* Acts on each message. Answers tools/call when its process has ended, all other requests at once. */
#include "cli/mcp/server.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cli/mcp/table.h"
#include "query/session/json.h"

#define CALLS_MAX 64 /* that run or wait */
#define BATCH_MAX 64
#define CLOSING_MS 50 /* between two looks at what is to end */

int ada_mcp_server_send(struct ada_mcp_server *server, json_object *message)
{
	const char *text = json_object_to_json_string_ext(message, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
	size_t length = text ? strlen(text) : 0;
	int result = text ? ada_array_reserve(&server->output, length + 1) : -ENOMEM;

	if (!result) {
		memcpy(server->output.items + server->output.count, text, length);
		server->output.items[server->output.count + length] = '\n';
		server->output.count += length + 1;
	}
	json_object_put(message);
	return result;
}

/* Responds by a message, or adds to the batch's message. */
static int respond(struct ada_mcp_server *server, struct ada_mcp_batch *batch, json_object *response)
{
	if (!batch)
		return ada_mcp_server_send(server, response);
	json_object_array_add(batch->responses, response);
	return 0;
}

/* One of the batch's messages is done with. */
static int batch_less(struct ada_mcp_server *server, struct ada_mcp_batch *batch)
{
	int result = 0;

	if (!batch || --batch->pending)
		return 0;
	if (json_object_array_length(batch->responses))
		result = ada_mcp_server_send(server, batch->responses);
	else
		json_object_put(batch->responses);
	free(batch);
	return result;
}

/* --- requests ----------------------------------------------------------------------------------------------------------- */

static json_object *initialize(struct ada_mcp_server *server, const struct ada_mcp_message *message)
{
	json_object *result, *part;
	const char *version = ada_json_text(message->params, "protocolVersion", NULL);

	if (server->version)
		return ada_mcp_error(message->id, ADA_MCP_NO_REQUEST, "initialize came before");
	if (!version)
		return ada_mcp_error(message->id, ADA_MCP_BAD_PARAMS, "initialize needs protocolVersion, a string");
	server->version = ada_mcp_version_of(version);
	result = json_object_new_object();
	json_object_object_add(result, "protocolVersion", json_object_new_string(ada_mcp_version_name(server->version)));
	part = json_object_new_object();
	json_object_object_add(part, "tools", json_object_new_object());
	json_object_object_add(result, "capabilities", part);
	part = json_object_new_object();
	json_object_object_add(part, "name", json_object_new_string("ada"));
	if (server->version >= ADA_MCP_2025_06_18)
		json_object_object_add(part, "title", json_object_new_string("ada, a flight recorder for native programs"));
	json_object_object_add(part, "version", json_object_new_string(ADA_VERSION));
	json_object_object_add(result, "serverInfo", part);
	json_object_object_add(result, "instructions", json_object_new_string(ada_mcp_instructions));
	return ada_mcp_result(message->id, result);
}

static json_object *list_tools(struct ada_mcp_server *server, const struct ada_mcp_message *message)
{
	json_object *result;

	/* All tools are on the first page, so no cursor can be right. */
	if (ada_json_get(message->params, "cursor"))
		return ada_mcp_error(message->id, ADA_MCP_BAD_PARAMS, "tools/list has one page: no such cursor");
	result = json_object_new_object();
	json_object_object_add(result, "tools", ada_mcp_tools(server->version, server->allow_record));
	return ada_mcp_result(message->id, result);
}

static size_t find_call(const struct ada_mcp_server *server, json_object *id)
{
	size_t i = 0;

	while (i < server->calls.count && !json_object_equal(server->calls.items[i]->id, id))
		i++;
	return i;
}

/* NULL: the answer comes later. */
static json_object *call_tool(struct ada_mcp_server *server, const struct ada_mcp_message *message, struct ada_mcp_batch *batch)
{
	const char *name = ada_json_text(message->params, "name", NULL);
	json_object *arguments = ada_json_get(message->params, "arguments");
	const struct ada_mcp_tool *tool = name ? ada_mcp_tool_find(name) : NULL;
	struct ada_error error = {};
	struct ada_mcp_call *call;

	if (!name)
		return ada_mcp_error(message->id, ADA_MCP_BAD_PARAMS, "tools/call needs name, a string");
	if (!tool)
		return ada_mcp_error(message->id, ADA_MCP_BAD_PARAMS, "no tool '%.100s': tools/list has those that there are", name);
	if (ada_mcp_tool_check(tool, arguments, &error))
		return ada_mcp_error(message->id, ADA_MCP_BAD_PARAMS, "%s", error.text);
	if (tool->records && !server->allow_record)
		return ada_mcp_result(
			message->id,
			ada_mcp_call_failure("record runs programs, which this server may not do: it is for whoever starts it to"
					     " allow that, by `ada mcp --allow-record`"));
	if (find_call(server, message->id) < server->calls.count)
		return ada_mcp_error(message->id, ADA_MCP_NO_REQUEST, "a call of that id is under way");
	if (server->calls.count >= CALLS_MAX)
		return ada_mcp_result(message->id, ada_mcp_call_failure("too many calls are under way: await their answers"));
	call = ada_mcp_call_new(message->id, tool, arguments);
	if (!call || ada_array_push(&server->calls, call)) {
		free(call);
		return ada_mcp_result(message->id, ada_mcp_call_failure("out of memory"));
	}
	call->batch = batch;
	if (batch)
		batch->pending++;
	return NULL;
}

static json_object *message_answer(struct ada_mcp_server *server, const struct ada_mcp_message *message, struct ada_mcp_batch *batch)
{
	if (!strcmp(message->method, "ping"))
		return ada_mcp_result(message->id, json_object_new_object());
	if (!strcmp(message->method, "initialize") && !batch)
		return initialize(server, message);
	if (!server->version)
		return ada_mcp_error(message->id, ADA_MCP_NO_REQUEST, "the first request is initialize");
	if (!strcmp(message->method, "tools/list"))
		return list_tools(server, message);
	if (!strcmp(message->method, "tools/call"))
		return call_tool(server, message, batch);
	return ada_mcp_error(message->id, ADA_MCP_NO_METHOD, "no method '%.100s' here", message->method);
}

/* --- calls -------------------------------------------------------------------------------------------------------------- */

static int end_call(struct ada_mcp_server *server, size_t number, json_object *result)
{
	struct ada_mcp_call *call = server->calls.items[number];
	json_object *id = json_object_get(call->id);
	struct ada_mcp_batch *batch = call->batch;
	int status = 0;

	memmove(server->calls.items + number, server->calls.items + number + 1,
		(server->calls.count - number - 1) * sizeof *server->calls.items);
	server->calls.count--;
	ada_mcp_call_free(call);
	if (result)
		status = respond(server, batch, ada_mcp_result(id, result));
	json_object_put(id);
	return status ? status : batch_less(server, batch);
}

/* Ends the call's process, or what it records, and sends no answer, as the protocol wants it. */
static int cancel(struct ada_mcp_server *server, const struct ada_mcp_message *message)
{
	json_object *id = ada_json_get(message->params, "requestId");
	size_t number = id ? find_call(server, id) : server->calls.count;

	if (number >= server->calls.count)
		return 0;
	if (server->calls.items[number]->launch)
		server->calls.items[number]->launch->due_ns = 0; /* as at its time limit */
	return end_call(server, number, NULL);
}

/* --- recordings --------------------------------------------------------------------------------------------------------- */

static bool is_asked_for(const struct ada_mcp_server *server, const struct ada_mcp_launch *launch)
{
	for (size_t i = 0; i < server->calls.count; i++)
		if (server->calls.items[i]->launch == launch)
			return true;
	return false;
}

void ada_mcp_server_tend(struct ada_mcp_server *server, uint64_t now_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < server->launches.count; i++) {
		struct ada_mcp_launch *launch = server->launches.items[i];

		ada_mcp_launch_step(launch, now_ns);
		if (launch->phase == ADA_MCP_LAUNCH_GONE && !is_asked_for(server, launch))
			ada_mcp_launch_free(launch);
		else
			server->launches.items[kept++] = launch;
	}
	server->launches.count = kept;
}

static uint64_t seconds_from(uint64_t now_ns, json_object *arguments, const char *name, uint64_t fallback)
{
	return now_ns + ada_json_u64(arguments, name, fallback) * 1000000000;
}

static int start_recording(struct ada_mcp_server *server, struct ada_mcp_call *call, uint64_t now_ns, struct ada_error *error)
{
	ada_mcp_words words = {};
	int status;

	if (server->launches.count >= ADA_MCP_LAUNCHES_MAX)
		return ada_error_set(error, EBUSY, "%d recordings of this server are under way: await the end of one, or stop it",
				     ADA_MCP_LAUNCHES_MAX);
	status = ada_array_reserve(&server->launches, 1) ? ada_error_set(error, ENOMEM, "out of memory") : 0;
	status = status ?: ada_mcp_tool_words(call->tool, server->root, call->arguments, &words, error);
	status = status ?:
			  ada_mcp_launch_start(&call->launch, server->root, &words, seconds_from(now_ns, call->arguments, "time_limit", 60),
					       error);
	if (!status)
		server->launches.items[server->launches.count++] = call->launch;
	ada_mcp_words_free(&words);
	call->deadline_ns = seconds_from(now_ns, call->arguments, "wait", 0);
	return status;
}

static json_object *recording_turn(struct ada_mcp_server *server, struct ada_mcp_call *call, uint64_t now_ns)
{
	const struct ada_mcp_launch *launch = call->launch;
	struct ada_error error = {};

	if (!launch)
		return start_recording(server, call, now_ns, &error) ? ada_mcp_call_failure(error.text) : NULL;
	return launch->ended || now_ns >= ada_mcp_call_due_ns(call) ? ada_mcp_launch_answer(launch, server->version) : NULL;
}

/* --- turns -------------------------------------------------------------------------------------------------------------- */

int ada_mcp_server_turn(struct ada_mcp_server *server, uint64_t now_ns)
{
	size_t running = 0;
	uint64_t deadline_ns = server->limit_ns < UINT64_MAX - now_ns ? now_ns + server->limit_ns : UINT64_MAX;
	int status = 0;

	for (size_t i = 0; i < server->calls.count && !status;) {
		struct ada_mcp_call *call = server->calls.items[i];
		struct ada_error error = {};
		json_object *result = NULL;

		if (call->tool->records) {
			result = recording_turn(server, call, now_ns);
		} else if (call->pid) {
			ada_mcp_call_step(call, now_ns);
			if (call->ended)
				result = ada_mcp_call_answer(call, server->version);
		} else if (running < ADA_MCP_RUNNING_MAX) {
			if (ada_mcp_call_start(call, server->root, deadline_ns, &error))
				result = ada_mcp_call_failure(error.text);
		}
		if (result) {
			status = end_call(server, i, result);
			continue;
		}
		running += call->pid != 0;
		i++;
	}
	return status;
}

/* --- messages ----------------------------------------------------------------------------------------------------------- */

static int take_message(struct ada_mcp_server *server, json_object *value, struct ada_mcp_batch *batch)
{
	struct ada_mcp_message message;
	json_object *response = NULL;

	ada_mcp_decode(value, &message);
	switch (message.kind) {
	case ADA_MCP_INVALID:
		response = ada_mcp_error(message.id, ADA_MCP_NO_REQUEST, "not a message of JSON-RPC 2.0: %s", message.wrong);
		break;
	case ADA_MCP_REQUEST: response = message_answer(server, &message, batch); break;
	case ADA_MCP_NOTIFICATION:
		if (!strcmp(message.method, "notifications/cancelled"))
			return cancel(server, &message);
		break;
	case ADA_MCP_RESPONSE: break;
	}
	return response ? respond(server, batch, response) : 0;
}

static int take_batch(struct ada_mcp_server *server, json_object *array)
{
	size_t count = json_object_array_length(array);
	struct ada_mcp_batch *batch;
	int result = 0;

	if (server->version == ADA_MCP_UNKNOWN || server->version >= ADA_MCP_2025_06_18)
		return ada_mcp_server_send(server,
					   ada_mcp_error(NULL, ADA_MCP_NO_REQUEST,
							 "a batch is for the protocol's versions before 2025-06-18, once initialized"));
	if (!count || count > BATCH_MAX)
		return ada_mcp_server_send(server, ada_mcp_error(NULL, ADA_MCP_NO_REQUEST, "a batch has 1 to %d messages", BATCH_MAX));
	batch = calloc(1, sizeof *batch);
	if (!batch)
		return -ENOMEM;
	batch->responses = json_object_new_array();
	batch->pending = 1; /* this loop */
	for (size_t i = 0; i < count && !result; i++)
		result = take_message(server, json_object_array_get_idx(array, i), batch);
	return result ? result : batch_less(server, batch);
}

int ada_mcp_server_take(struct ada_mcp_server *server, const char *line, size_t length)
{
	const char *wrong;
	json_object *value;
	int result;

	/* An empty line is nothing. */
	if (strspn(line, " \t\r") >= length)
		return 0;
	value = ada_mcp_parse(line, length, ADA_MCP_DEPTH, &wrong);
	if (!value)
		return ada_mcp_server_send(server, wrong ? ada_mcp_error(NULL, ADA_MCP_NOT_JSON, "not JSON: %s", wrong) :
							   ada_mcp_error(NULL, ADA_MCP_NO_REQUEST, "null is no message"));
	result = json_object_is_type(value, json_type_array) ? take_batch(server, value) : take_message(server, value, NULL);
	json_object_put(value);
	return result;
}

static void end_recordings(struct ada_mcp_server *server)
{
	for (size_t i = 0; i < server->launches.count; i++)
		ada_mcp_launch_end(server->launches.items[i], ada_mcp_now_ns());
	while (server->launches.count) {
		struct pollfd polls[ADA_MCP_LAUNCHES_MAX * ADA_MCP_LAUNCH_POLLS];

		for (size_t i = 0; i < server->launches.count; i++)
			ada_mcp_launch_poll(server->launches.items[i], polls + i * ADA_MCP_LAUNCH_POLLS);
		poll(polls, server->launches.count * ADA_MCP_LAUNCH_POLLS, CLOSING_MS);
		ada_mcp_server_tend(server, ada_mcp_now_ns());
	}
	ada_array_free(&server->launches);
}

void ada_mcp_server_close(struct ada_mcp_server *server)
{
	while (server->calls.count) {
		struct ada_mcp_batch *batch = server->calls.items[0]->batch;

		ada_mcp_call_free(server->calls.items[0]);
		memmove(server->calls.items, server->calls.items + 1, --server->calls.count * sizeof *server->calls.items);
		if (batch && !--batch->pending) {
			json_object_put(batch->responses);
			free(batch);
		}
	}
	end_recordings(server);
	ada_array_free(&server->calls);
	ada_array_free(&server->output);
}
