/* Files and sockets in memory, in place of the system calls of the code under test (which is linked with --wrap, see meson.build):
 * an execution costs what the code itself does. Paths of files that were put, all others below FUZZ_MEMORY, and descriptors from
 * FUZZ_FD on are ours. What lies behind a file's end is poisoned, also where it is mapped. */
#ifndef ADA_FUZZ_MEMORY_H
#define ADA_FUZZ_MEMORY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define FUZZ_MEMORY "/memory"
#define FUZZ_FD (1 << 24)
#define FUZZ_FILE_BYTES_MAX (1 << 20)

/* From now on `path`, a string that lives on, is a file of these bytes, or a link to what they name; its directories are there, too. */
void fuzz_file_put(const char *path, const void *bytes, size_t length);
/* Below this path, a string that lives on, there is nothing but the files that were put. */
void fuzz_directory_put(const char *path);
/* What an open file holds; NULL: none of ours. */
const uint8_t *fuzz_file_bytes(int fd, size_t *length);
/* Directories that were made since are not there any more; mkdir(2) says of none twice that it made it. */
void fuzz_directories_forget(void);
/* Open for ever, takes whatever is written. Any file that is made below FUZZ_MEMORY is this one. */
int fuzz_null(void);

/* As socketpair(2) and SOCK_NONBLOCK, of one kind of SOCK_STREAM and SOCK_SEQPACKET; the peer of both is this process. */
void fuzz_socket_pair(int kind, int pair[2]);
bool fuzz_socket_close(int fd); /* false: none of ours */
#endif
