/* Commands that show what a session holds: its parts, its events, and sentences, rows and files made of them. */
#ifndef ADA_CLI_SHOW_COMMANDS_H
#define ADA_CLI_SHOW_COMMANDS_H

int ada_cmd_info(int argc, char **argv);
int ada_cmd_windows(int argc, char **argv);
int ada_cmd_dump(int argc, char **argv);
int ada_cmd_verify(int argc, char **argv);
int ada_cmd_narrate(int argc, char **argv);
int ada_cmd_query(int argc, char **argv);
int ada_cmd_export(int argc, char **argv);
#endif
