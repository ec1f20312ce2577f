/* The sessions that ada mcp serves: those below one directory, the root. */
#ifndef ADA_CLI_MCP_SESSIONS_H
#define ADA_CLI_MCP_SESSIONS_H
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/error.h"
#include "base/output.h"

/* The real path of the session that a client names: below the root, however the client writes it. `name` NULL: the latest. -errno with
 * the reason. A session that is there need not be sound. */
int ada_mcp_session_find(const char *root, const char *name, char path[PATH_MAX], struct ada_error *error);
/* Prints the newest `limit` of them to standard output: the exit status. */
int ada_mcp_sessions_print(const char *root, uint64_t limit, enum ada_format format);
#endif
