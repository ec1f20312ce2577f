/* Commands that show pictures. */
#ifndef ADA_CLI_VIEW_COMMANDS_H
#define ADA_CLI_VIEW_COMMANDS_H

int ada_cmd_view(int argc, char **argv);
#endif
