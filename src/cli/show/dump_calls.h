#ifndef ADA_CLI_DUMP_CALLS_H
#define ADA_CLI_DUMP_CALLS_H
#include "cli/show/dump_event.h"

/* `ada dump --calls`: the selection's calls that `names` wants, a row each, in the order in which they began, and how complete that is.
 * All of them are kept in memory before the first is printed, 72 bytes each; with --limit no more than twice as many. 0 or -errno. */
int ada_dump_calls(struct ada_dump *dump, const struct ada_selection *selection, struct ada_dump_names *names, struct ada_error *error);
#endif
