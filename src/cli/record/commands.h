/* Commands of recordings: they begin one, speak with one under way, or finish what one left. */
#ifndef ADA_CLI_RECORD_COMMANDS_H
#define ADA_CLI_RECORD_COMMANDS_H

int ada_cmd_trace(int argc, char **argv);
int ada_cmd_status(int argc, char **argv);
int ada_cmd_mark(int argc, char **argv);
int ada_cmd_stop(int argc, char **argv);
int ada_cmd_anchor(int argc, char **argv);
int ada_cmd_trigger(int argc, char **argv);
int ada_cmd_recover(int argc, char **argv);
int ada_cmd_pack(int argc, char **argv);
int ada_cmd_unpack(int argc, char **argv);
int ada_cmd_functions(int argc, char **argv);
#endif
