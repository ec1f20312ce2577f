/* Preloaded into `ada trace`: while the file DISK_FAULT_WHILE is there, writes to the files of events fail with the errno DISK_FAULT, and
 * none is made. With DISK_FAULT_RING=no there is no ring, and blocks are written by pwrite. What the ring writes goes where the kernel
 * itself says that errno: only ENOSPC and EIO are to be had so. With DISK_FAULT_OF=WORD, and without a ring, only files whose paths have this
 * word fail. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int fault(void)
{
	const char *wanted = getenv("DISK_FAULT"), *file = getenv("DISK_FAULT_WHILE");

	return wanted && file && !access(file, F_OK) ? atoi(wanted) : 0;
}

static int is_events(const char *path)
{
	const char *end = strrchr(path, '.'), *word = getenv("DISK_FAULT_OF");

	return end && (!word || strstr(path, word)) && (!strcmp(end, ".atf") || !strcmp(end, ".atp"));
}

static int is_events_file(int fd)
{
	char link[40], path[4096];
	ssize_t length;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof path - 1);
	path[length > 0 ? length : 0] = 0;
	return is_events(path);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset)
{
	int error = is_events_file(fd) ? fault() : 0;

	if (!error)
		return NEXT(pwrite64)(fd, bytes, count, offset);
	errno = error;
	return -1;
}

int open64(const char *path, int flags, ...)
{
	va_list rest;
	mode_t mode;
	int error = flags & O_CREAT && is_events(path) ? fault() : 0;

	va_start(rest, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
	va_end(rest);
	if (!error)
		return NEXT(open64)(path, flags, mode);
	errno = error;
	return -1;
}

int io_uring_queue_init(unsigned entries, struct io_uring *ring, unsigned flags)
{
	const char *wanted = getenv("DISK_FAULT_RING");

	return wanted && !strcmp(wanted, "no") ? -ENOSYS : NEXT(io_uring_queue_init)(entries, ring, flags);
}

int io_uring_submit(struct io_uring *ring)
{
	static int full, unmapped;
	int error = fault();

	full = full ? full : NEXT(open64)("/dev/full", O_RDWR | O_CLOEXEC);
	unmapped = unmapped ? unmapped : NEXT(open64)("/proc/self/mem", O_RDWR | O_CLOEXEC);
	for (unsigned i = ring->sq.sqe_head; error && i != ring->sq.sqe_tail; i++) {
		struct io_uring_sqe *entry = &ring->sq.sqes[i & *ring->sq.kring_mask];

		if (entry->opcode != IORING_OP_WRITE && entry->opcode != IORING_OP_WRITEV)
			continue;
		entry->fd = error == ENOSPC ? full : unmapped;
		entry->off = 0;
	}
	return NEXT(io_uring_submit)(ring);
}
