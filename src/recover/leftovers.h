/* What recorders that were killed leave outside of their sessions: directories with sockets that nobody listens to. */
#ifndef ADA_RECOVER_LEFTOVERS_H
#define ADA_RECOVER_LEFTOVERS_H
#include <stdbool.h>

/* Whether it is such a directory, of this user, and its recorder is gone. `directory`: absolute. */
bool ada_leftover_is_dead(const char *directory);
/* Removes it if it is one. True: it is gone now. */
bool ada_leftover_remove(const char *directory);
#endif
