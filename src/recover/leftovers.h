/* What recorders that were killed leave outside of their sessions. Directories of this user, each named by a way that nobody else has:
 *
 *   PLACE/ada-XXXXXX/          sockets that nobody listens to; PLACE: $XDG_RUNTIME_DIR, /tmp
 *   /dev/shm/ada-UID/NAME/     shared memory that nobody has locked (recorder/index/shared.h)
 */
#ifndef ADA_RECOVER_LEFTOVERS_H
#define ADA_RECOVER_LEFTOVERS_H
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/array.h"

struct ada_leftover {
	bool memory;	/* else sockets */
	bool young;	/* of the last minute: a recorder that died just now */
	uint64_t bytes; /* of memory that it takes up */
	char path[256];
	char session[PATH_MAX]; /* whose memory it was; "": not known */
};
struct ada_leftovers {
	ADA_ARRAY(struct ada_leftover) dead;
};

/* Finds those that are surely dead: a young one without an arena may be about to begin. 0 or -ENOMEM; the caller frees the array. */
int ada_leftovers_find(struct ada_leftovers *leftovers);
bool ada_leftover_remove(const struct ada_leftover *leftover); /* true: it is gone; false: it is alive again, or can't be removed */
/* Removes the directory of a socket that a session names; its recorder is known to be dead. */
void ada_leftover_remove_sockets(const char *directory);

/* Memory of a dead recorder. */
struct ada_leftover_memory {
	int directory, arena; /* -1: none. The arena's lock is ours */
	char path[256];
};
/* Takes what is left of that session's memory, however young: its recorder is known to be dead. False: nothing is left, or somebody lives
 * who has it. */
bool ada_leftover_hold(struct ada_leftover_memory *memory, const char *session);
/* All of the memory is written: the names go. */
void ada_leftover_let_go(struct ada_leftover_memory *memory, bool written);
#endif
