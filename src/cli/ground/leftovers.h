/* ada recover --list, --purge: what killed recorders left outside of sessions. */
#ifndef ADA_CLI_RECOVER_LEFTOVERS_H
#define ADA_CLI_RECOVER_LEFTOVERS_H
#include <stdbool.h>
#include "base/output.h"

/* Lists all that is dead, and removes it where that is asked for: the exit status. */
int ada_recover_leftovers(const char *command, enum ada_format format, bool purge);
/* On stderr, in one line, what a killed recorder left of memory, and the command for it. `near`: a session, or where sessions are made:
 * what belongs there is told at once, all else when it is a minute old. */
void ada_leftovers_notice(const char *near);
#endif
