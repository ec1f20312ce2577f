/* Commands that show a recording as it goes on. */
#ifndef ADA_CLI_LIVE_COMMANDS_H
#define ADA_CLI_LIVE_COMMANDS_H

int ada_cmd_top(int argc, char **argv);
#endif
