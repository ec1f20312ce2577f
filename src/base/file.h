/* Files: whole reads and writes, replacing atomically, directories. 0 or -errno unless said otherwise. */
#ifndef ADA_BASE_FILE_H
#define ADA_BASE_FILE_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "base/error.h"

/* Reads a whole file; *bytes is malloc'ed and has a NUL behind the last byte. */
int ada_file_read(const char *path, char **bytes, size_t *length, struct ada_error *error);
/* The same of files that others made: what is no regular file is an error, and never waited for (a FIFO, a terminal). */
int ada_file_read_regular(const char *path, char **bytes, size_t *length, struct ada_error *error);
int ada_file_open_regular(const char *path, struct ada_error *error); /* a descriptor for reading */
int ada_file_read_fd(int fd, char **bytes, size_t *length);
int ada_file_write_all(int fd, const void *bytes, size_t length);
int ada_file_write_at(int fd, const void *bytes, size_t length, off_t offset); /* the same at a place, whatever fd stands at */
/* Writes a new file beside it (PATH.NUMBER.tmp, mode 0600), fsync, rename, fsync of the directory: readers see the old or the new
 * whole, and no link that lies there is followed. */
int ada_file_replace(const char *path, const void *bytes, size_t length, struct ada_error *error);
/* The same, not durable: no fsync. Nobody waits for the disk, and after a power failure the file may be empty or in part what it was to
 * be: for whoever reads such files with a checksum, or writes them anew soon. */
int ada_file_replace_soon(const char *path, const void *bytes, size_t length, struct ada_error *error);
/* Either of them, without a message. */
int ada_file_replace_at(int directory, const char *name, const void *bytes, size_t length, bool durable);
/* Whether somebody holds flock(LOCK_EX) on it; `flags`: more of open's. */
bool ada_file_is_held(const char *path, int flags);
/* snprintf into a buffer of PATH_MAX; -ENAMETOOLONG where it does not fit. */
int ada_path(char *path, const char *format, ...) __attribute__((format(printf, 2, 3)));
#endif
