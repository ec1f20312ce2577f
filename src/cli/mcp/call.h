/* A call of a tool under way: a child process, what it has printed, and its answer. */
#ifndef ADA_CLI_MCP_CALL_H
#define ADA_CLI_MCP_CALL_H
#include <poll.h>
#include <sys/types.h>
#include "cli/mcp/launch.h"

#define ADA_MCP_ANSWER_BYTES (256u << 10) /* of text; a longer one is cut */
#define ADA_MCP_CALL_POLLS 3

struct ada_mcp_batch { /* answered by one message, once none of its requests is pending */
	json_object *responses;
	size_t pending;
};

typedef ADA_ARRAY(char) ada_mcp_bytes;

struct ada_mcp_call {
	json_object *id, *arguments;
	const struct ada_mcp_tool *tool;
	struct ada_mcp_batch *batch; /* NULL: the answer is a message of its own */
	pid_t pid;		     /* 0: waits for its turn */
	int process, output, errors; /* descriptors: of the process, of its pipes */
	ada_mcp_bytes printed, complaint;
	struct ada_mcp_launch *launch; /* of `record`: the server's; NULL: none (yet) */
	uint64_t deadline_ns;	       /* of a launch: when it is answered at the latest */
	bool cut, timed_out, ended;
	int status; /* as waitpid gives it, once ended */
};

/* In a new child: a process group of its own, signals as a program expects them, no input. `orphaned`: the signal that it gets when the
 * server dies. 0, or it can't go on. */
int ada_mcp_child_prepare(pid_t parent, int orphaned, int output, int errors);
_Noreturn void ada_mcp_child_become(const ada_mcp_words *words); /* this executable, with another command line */

/* NULL: no memory. Takes references to id and arguments. */
struct ada_mcp_call *ada_mcp_call_new(json_object *id, const struct ada_mcp_tool *tool, json_object *arguments);
/* Runs the command, in a process group of its own that dies with us, until `deadline_ns` of CLOCK_MONOTONIC at the latest. -errno: *error
 * is the answer. */
int ada_mcp_call_start(struct ada_mcp_call *call, const char *root, uint64_t deadline_ns, struct ada_error *error);
void ada_mcp_call_poll(const struct ada_mcp_call *call, struct pollfd polls[ADA_MCP_CALL_POLLS]);
/* Reads what there is, ends the command when its time is over, and sets `ended` once it has ended. */
void ada_mcp_call_step(struct ada_mcp_call *call, uint64_t now_ns);
/* When it is due without news of it; UINT64_MAX: never. */
uint64_t ada_mcp_call_due_ns(const struct ada_mcp_call *call);
/* The result of tools/call. */
json_object *ada_mcp_call_answer(const struct ada_mcp_call *call, enum ada_mcp_version version);
json_object *ada_mcp_call_failure(const char *text);
json_object *ada_mcp_call_object(json_object *object, enum ada_mcp_version version); /* takes it over */
json_object *ada_mcp_call_text(const char *bytes, size_t length); /* any bytes, without the last newlines, as a string of JSON */
void ada_mcp_call_free(struct ada_mcp_call *call);		  /* kills what still runs */
#endif
