/* Commands that walk a recording in the terminal. */
#ifndef ADA_CLI_TUI_COMMANDS_H
#define ADA_CLI_TUI_COMMANDS_H

int ada_cmd_tui(int argc, char **argv);
#endif
