/* The commands: one file each, cmd_NAME.c; main.c holds the table. A command gets its own name as argv[0], returns the
 * exit status, prints rows on stdout and everything else on stderr. */
#ifndef ADA_CLI_COMMANDS_H
#define ADA_CLI_COMMANDS_H

int ada_cmd_trace(int argc, char **argv);
int ada_cmd_status(int argc, char **argv);
int ada_cmd_mark(int argc, char **argv);
int ada_cmd_anchor(int argc, char **argv);
int ada_cmd_stop(int argc, char **argv);
int ada_cmd_trigger(int argc, char **argv);
int ada_cmd_functions(int argc, char **argv);
int ada_cmd_info(int argc, char **argv);
int ada_cmd_windows(int argc, char **argv);
int ada_cmd_dump(int argc, char **argv);
int ada_cmd_export(int argc, char **argv);
int ada_cmd_query(int argc, char **argv);
int ada_cmd_graph(int argc, char **argv);
int ada_cmd_report(int argc, char **argv);
int ada_cmd_narrate(int argc, char **argv);
int ada_cmd_mcp(int argc, char **argv);
int ada_cmd_recover(int argc, char **argv);
int ada_cmd_verify(int argc, char **argv);
#endif
