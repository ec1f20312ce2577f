/* Where a session's shared memory lies: in a tmpfs of the recorder's own, mounted nowhere. Nobody else can see, list or squat what is in
 * it, its pages are huge whatever the system's settings, and it is gone with the last process that has a file of it, or its directory,
 * mapped or open. The traced program gets descriptors; no namespace of the recorder changes, and so none of the program's. For a user who
 * isn't root, a child that ends at once makes the tmpfs in a user namespace. Where the system allows neither, files lie in a directory of
 * the session's own in /dev/shm/ada-UID: with small pages and the size that /dev/shm has. Where that can't be had (somebody else has its
 * name), they lie in /dev/shm without names.
 *
 *   arena       what the recorder has not yet written (abi/arena.h). Its lock is the recorder's, or the keeper's: who lives
 *   session     a text: lines, of which the last is "session " and the session's absolute directory
 *   segment.N   of provider N, until its last manifest is on the disk; or from then on a spare one (process/spare.h)
 *   ready.N     that lies ready (abi/ready.h), until it is a provider's
 *
 * A holder of `directory` can make files, and open those there are; a holder of a file's descriptor keeps that file. So what shall
 * outlive the recorder needs another process that holds these, or the names in /dev/shm.
 */
#ifndef ADA_RECORDER_SHARED_H
#define ADA_RECORDER_SHARED_H
#include <stdbool.h>
#include <stdint.h>
#include "base/error.h"

#define ADA_SHARED_ARENA "arena"
#define ADA_SHARED_SESSION "session"
#define ADA_SHARED_SEGMENT_FORMAT "segment.%u"
#define ADA_SHARED_READY "ready."
#define ADA_SHARED_NAME_BYTES 64

struct ada_shared {
	int directory;			  /* -1: not open */
	bool own;			  /* the recorder's own tmpfs; else /dev/shm */
	bool named;			  /* files have names: always in the own tmpfs */
	char name[ADA_SHARED_NAME_BYTES]; /* of the directory in the user's own one (ada_shared_home_path); "": there is none */
};

int ada_shared_open(struct ada_shared *shared, struct ada_error *error);
void ada_shared_close(struct ada_shared *shared); /* the files stay, as long as anyone has them, or they have names */
/* The same at the end of a session: the names go. */
void ada_shared_remove(struct ada_shared *shared);
/* Before any segment is made: nobody could do anything with what outlives the recorder, so files get no names. */
int ada_shared_unname(struct ada_shared *shared, struct ada_error *error);

/* A file of `bytes` without memory yet. `name`: NULL, or where files have names its own. *other: a second open file of it (no dup:
 * each counts by itself), for another process; NULL: not wanted. The caller closes both. */
int ada_shared_file(const struct ada_shared *shared, const char *name, uint64_t bytes, int *fd, int *other, struct ada_error *error);
int ada_shared_again(int fd); /* another open file of a file that is open; -1: errno */
int ada_shared_rename(const struct ada_shared *shared, const char *from, const char *to); /* 0, where files have no names, too; or -errno */
void ada_shared_unlink(const struct ada_shared *shared, const char *name);		  /* nothing where there is none of that name */
void ada_shared_segment_name(char name[ADA_SHARED_NAME_BYTES], uint32_t provider);
void ada_shared_ready_name(char name[ADA_SHARED_NAME_BYTES], uint32_t number);
/* Writes the file `session`. 0 or -errno. */
int ada_shared_tell_session(const struct ada_shared *shared, const char *directory);

/* The user's own directory in /dev/shm, of which each directory is a session's. */
void ada_shared_home_path(char path[ADA_SHARED_NAME_BYTES]);
/* Of such a directory: nobody who lives has it. *arena: its lock is the caller's until it closes that; -1: it has none. */
bool ada_shared_is_dead(int directory, int *arena);

const char *ada_shared_text(const struct ada_shared *shared); /* for messages: what is full when there is no room */
#endif
