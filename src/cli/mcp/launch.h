/* Recordings that the server started, by its tool `record`: each an `ada trace` in a session (setsid) and process group of its own. They
 * outlive the call that started them, never the server. */
#ifndef ADA_CLI_MCP_LAUNCH_H
#define ADA_CLI_MCP_LAUNCH_H
#include <limits.h>
#include <poll.h>
#include <sys/types.h>
#include "cli/mcp/tools.h"

#define ADA_MCP_LAUNCHES_MAX 8
#define ADA_MCP_LAUNCH_POLLS 2
#define ADA_MCP_LAUNCH_ANNOUNCE 3 /* the descriptor by which `ada trace` tells its session */

enum ada_mcp_launch_phase {
	ADA_MCP_LAUNCH_RUNS,
	ADA_MCP_LAUNCH_ENDS, /* was asked to */
	ADA_MCP_LAUNCH_LEFT, /* has ended, and its program or what that started goes on */
	ADA_MCP_LAUNCH_GONE,
};
enum { ADA_MCP_LAUNCH_OUTPUT, ADA_MCP_LAUNCH_ERRORS, ADA_MCP_LAUNCH_FILES };

struct ada_mcp_launch {
	pid_t pid;
	int process, announced; /* descriptors: of the process, of the pipe */
	enum ada_mcp_launch_phase phase;
	size_t told;
	char session[PATH_MAX]; /* its path; "": not known, a part of it is in `telling` */
	char telling[PATH_MAX];
	char files[ADA_MCP_LAUNCH_FILES][PATH_MAX]; /* what program and recorder print */
	uint64_t due_ns, last_ns;		    /* when the phase goes on, when it is over by force */
	int status;				    /* as waitpid gives it, once ended */
	bool ended, timed_out;
};

/* Runs the command line. `limit_ns` of CLOCK_MONOTONIC: then it is ended. -errno: *error is the answer. */
int ada_mcp_launch_start(struct ada_mcp_launch **launch, const char *root, const ada_mcp_words *words, uint64_t limit_ns,
			 struct ada_error *error);
void ada_mcp_launch_poll(const struct ada_mcp_launch *launch, struct pollfd polls[ADA_MCP_LAUNCH_POLLS]);
void ada_mcp_launch_step(struct ada_mcp_launch *launch, uint64_t now_ns);
/* Begins to end it: the program by SIGTERM, the recording in order, what goes on after that by force. */
void ada_mcp_launch_end(struct ada_mcp_launch *launch, uint64_t now_ns);
/* The result of tools/call. */
json_object *ada_mcp_launch_answer(const struct ada_mcp_launch *launch, enum ada_mcp_version version);
void ada_mcp_launch_free(struct ada_mcp_launch *launch); /* once GONE */
#endif
