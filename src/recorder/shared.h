/* Where a session's shared memory lies: in a tmpfs of the recorder's own, mounted nowhere. Nobody else can see, list or squat what
 * is in it, its pages are huge whatever the system is set to, and it is gone with the last process that has a file of it mapped
 * or open: a recorder that is killed leaves nothing behind. The traced program gets descriptors; no namespace of the recorder's
 * changes, and so none of the program's. Who is not root has it made in a user namespace, by a child that ends at once.
 * Where the system allows neither, files lie in /dev/shm: with small pages and its size, but without names there, too.
 *
 * Whoever holds `directory` can make files, whoever holds a file's descriptor keeps that file: what shall outlive the recorder needs
 * another process that has them.
 */
#ifndef ADA_RECORDER_SHARED_H
#define ADA_RECORDER_SHARED_H
#include <stdbool.h>
#include <stdint.h>
#include "base/error.h"

struct ada_shared {
	int directory;			/* -1: not open */
	bool own;			/* the recorder's own tmpfs; else /dev/shm */
};

int ada_shared_open(struct ada_shared *shared, struct ada_error *error);
void ada_shared_close(struct ada_shared *shared);	/* its files stay, as long as anyone has them */

/* A file of `bytes` without a name and without memory yet. *other: a second open file of it (no dup: each counts by itself), for
 * another process. The caller closes both. */
int ada_shared_file(const struct ada_shared *shared, uint64_t bytes, int *fd, int *other, struct ada_error *error);

const char *ada_shared_text(const struct ada_shared *shared);	/* for messages: what is full when there is no room */
#endif
