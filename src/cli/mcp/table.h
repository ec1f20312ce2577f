/* Which tools there are. */
#ifndef ADA_CLI_MCP_TABLE_H
#define ADA_CLI_MCP_TABLE_H
#include "cli/mcp/tools.h"

extern const struct ada_mcp_tool ada_mcp_table[]; /* a nameless one behind the last */
extern const char ada_mcp_instructions[];	  /* for the model: how to use the tools */
/* Appends a word; for `arrange`. 0 or -ENOMEM. */
int ada_mcp_word(ada_mcp_words *words, const char *format, ...) __attribute__((format(printf, 2, 3)));
#endif
