/* The command that answers programs, by the other ones. */
#ifndef ADA_CLI_MCP_COMMANDS_H
#define ADA_CLI_MCP_COMMANDS_H

int ada_cmd_mcp(int argc, char **argv);
#endif
