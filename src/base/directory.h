/* Directories that may lie where others can write: found once, without following links that others made, and held by a descriptor.
 *
 * What is made through ada_directory_path is made in the directory that was opened, whatever its name leads to by then: it is
 * a path through /proc/self/fd, good for every call that takes one, in this process alone.
 */
#ifndef ADA_BASE_DIRECTORY_H
#define ADA_BASE_DIRECTORY_H
#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>
#include "base/error.h"

enum ada_directory_flag {
	ADA_DIRECTORY_MAKE = 1, /* what is missing of it, mode 0700 */
	ADA_DIRECTORY_OURS = 2, /* it belongs to the user, and is made only in what belongs to the user or to root */
};
#define ADA_DIRECTORY_PATH_BYTES 32

/* A descriptor (O_PATH where it may not be listed), or -errno: -EPERM where a link on the way is neither the user's nor root's. `flags`: enum
 * ada_directory_flag. *made (may be NULL): the last part of it was made. */
int ada_directory_open(const char *path, unsigned flags, bool *made, struct ada_error *error);
/* Makes `name`, mode 0700, in the directory `parent`, and opens it; -EEXIST where it is there. -EPERM where another user's directory has
 * taken the place meanwhile. */
int ada_directory_add(int parent, const char *name);
int ada_directory_owned(int directory); /* 0: the user's or root's; -EPERM: another's */
/* Opens a directory that is the user's alone, which nobody else can have put anything into (no link). -1 and errno: another's (EPERM), or
 * not there. */
int ada_directory_private(int parent, const char *path);
void ada_directory_path(int directory, char path[ADA_DIRECTORY_PATH_BYTES]);
/* The name that people know: a path of ada_directory_path gets the directory's present name in place of its number, other paths stay as
 * they are. */
const char *ada_directory_shown(const char *path, char shown[PATH_MAX]);
#endif
