/* What may stand next on ada's command line: one candidate a line, for the shells' scripts in completions/.
 *
 * Commands are the caller's; options and their values are read from what `ada COMMAND --help` says, so that they are listed once; sessions
 * are those of ada_traces; functions those of the session that the line names, or of the last one. */
#ifndef ADA_CLI_COMPLETE_H
#define ADA_CLI_COMPLETE_H
#include <stddef.h>

/* `words` up to NULL, without "ada", the last being the one to be completed (""). 0, also where nothing fits. */
int ada_complete(const char *const *commands, size_t count, char **words);
#endif
