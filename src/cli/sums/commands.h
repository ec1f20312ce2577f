/* Commands that sum up a session, or compare two. */
#ifndef ADA_CLI_SUMS_COMMANDS_H
#define ADA_CLI_SUMS_COMMANDS_H

int ada_cmd_report(int argc, char **argv);
int ada_cmd_graph(int argc, char **argv);
int ada_cmd_tune(int argc, char **argv);
#endif
