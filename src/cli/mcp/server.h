/* ada mcp between its client and the calls. */
#ifndef ADA_CLI_MCP_SERVER_H
#define ADA_CLI_MCP_SERVER_H
#include "cli/mcp/call.h"

struct ada_mcp_server {
	const char *root;  /* real path of the directory whose sessions are served */
	uint64_t limit_ns; /* of one call */
	bool allow_record;
	enum ada_mcp_version version;		/* UNKNOWN: not initialized */
	ADA_ARRAY(struct ada_mcp_call *) calls; /* in the order of their requests */
	ADA_ARRAY(struct ada_mcp_launch *) launches;
	ada_mcp_bytes output; /* messages on their way to the client */
};

/* Takes a line of the client: answers it, or begins the call that will. 0 or -ENOMEM. */
int ada_mcp_server_take(struct ada_mcp_server *server, const char *line, size_t length);
/* Sends an answer, and frees it. */
int ada_mcp_server_send(struct ada_mcp_server *server, json_object *message);
/* Starts calls whose turn has come, and answers those that have ended. */
int ada_mcp_server_turn(struct ada_mcp_server *server, uint64_t now_ns); /* CLOCK_MONOTONIC */
/* What the recordings that it started want done by now; the calls' answers are turn's. */
void ada_mcp_server_tend(struct ada_mcp_server *server, uint64_t now_ns);
/* Ends those in order, and waits until they are. */
void ada_mcp_server_close(struct ada_mcp_server *server);

#define ADA_MCP_RUNNING_MAX 4  /* calls at a time; reports use every CPU by themselves */
uint64_t ada_mcp_now_ns(void); /* CLOCK_MONOTONIC */
/* Reads and writes until the client has gone, or a signal asks to end: the exit status. */
int ada_mcp_loop(struct ada_mcp_server *server);
#endif
