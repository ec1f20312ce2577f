/* ada recover --list, --purge: what killed recorders left outside of sessions. */
#ifndef ADA_CLI_RECOVER_LEFTOVERS_H
#define ADA_CLI_RECOVER_LEFTOVERS_H
#include <stdbool.h>
#include "base/output.h"

/* Lists all that is dead, and removes it if asked to. Returns the exit status. */
int ada_recover_leftovers(const char *command, enum ada_format format, bool purge);
/* Says on stderr, in one line, what memory a killed recorder left, and the command for that. `near`: a session, or the directory of
 * sessions: memory that belongs there is told at once, other memory when it is a minute old. */
void ada_leftovers_notice(const char *near);
#endif
