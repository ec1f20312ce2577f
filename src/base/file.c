/* See file.h. */
#include "base/file.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/array.h"
#include "base/directory.h"

int ada_file_open_regular(const char *path, struct ada_error *error)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat found;

	if (fd < 0)
		return ada_error_system(error, errno, "can't open %s", path);
	if (!fstat(fd, &found) && S_ISREG(found.st_mode))
		return fd;
	close(fd);
	return ada_error_set(error, EINVAL, "can't read %s: not a regular file", path);
}

/* Reads to the end rather than by size: files of /proc say that they have none. */
int ada_file_read_fd(int fd, char **bytes, size_t *length)
{
	ADA_ARRAY(char) text = { 0 };
	ssize_t got;
	int status;

	do {
		status = ada_array_reserve(&text, 4096);
		if (status)
			goto fail;
		got = read(fd, text.items + text.count, text.capacity - text.count - 1);
		if (got < 0 && errno != EINTR) {
			status = -errno;
			goto fail;
		}
		if (got > 0)
			text.count += (size_t)got;
	} while (got);
	text.items[text.count] = '\0';
	*bytes = text.items;
	*length = text.count;
	return 0;
fail:
	ada_array_free(&text);
	return status;
}

int ada_file_read(const char *path, char **bytes, size_t *length, struct ada_error *error)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), status;

	if (fd < 0)
		return ada_error_system(error, errno, "can't open %s", path);
	status = ada_file_read_fd(fd, bytes, length);
	close(fd);
	if (status)
		return ada_error_system(error, -status, "can't read %s", path);
	return 0;
}

int ada_file_read_regular(const char *path, char **bytes, size_t *length, struct ada_error *error)
{
	int fd = ada_file_open_regular(path, error), status;

	if (fd < 0)
		return fd;
	status = ada_file_read_fd(fd, bytes, length);
	close(fd);
	return status ? ada_error_system(error, -status, "can't read %s", path) : 0;
}

int ada_file_write_all(int fd, const void *bytes, size_t length)
{
	const char *at = bytes;

	while (length) {
		ssize_t put = write(fd, at, length);

		if (put < 0 && errno != EINTR)
			return -errno;
		if (put > 0) {
			at += put;
			length -= (size_t)put;
		}
	}
	return 0;
}

int ada_file_write_at(int fd, const void *bytes, size_t length, off_t offset)
{
	const char *from = bytes;

	while (length) {
		ssize_t written = pwrite(fd, from, length, offset);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written ? -errno : -EIO;
		from += written;
		offset += written;
		length -= (size_t)written;
	}
	return 0;
}

static int file_write_fd(int fd, const void *bytes, size_t length, bool durable)
{
	int status = ada_file_write_all(fd, bytes, length);

	if (!status && durable && fsync(fd))
		status = -errno;
	if (close(fd) && !status)
		status = -errno;
	return status;
}

/* A name that nobody can lay a link under beforehand, and that no other writer of the same file has. */
static int file_open_temporary(int directory, const char *name, char temporary[PATH_MAX])
{
	uint64_t number;
	int fd;

	do {
		if (getrandom(&number, sizeof number, 0) != sizeof number)
			return -EIO;
		if (ada_path(temporary, "%s.%016llx.tmp", name, (unsigned long long)number))
			return -ENAMETOOLONG;
		fd = openat(directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	} while (fd < 0 && errno == EEXIST);
	return fd < 0 ? -errno : fd;
}

int ada_file_replace_at(int directory, const char *name, const void *bytes, size_t length, bool durable)
{
	char temporary[PATH_MAX];
	int fd = file_open_temporary(directory, name, temporary), status;

	if (fd < 0)
		return fd;
	status = file_write_fd(fd, bytes, length, durable);
	if (!status && renameat(directory, temporary, directory, name))
		status = -errno;
	if (status)
		unlinkat(directory, temporary, 0);
	/* Some directories can't be synced, because of their file system or because they may not be read; the rename is then as durable
	 * as it is. */
	else if (durable && fsync(directory) && errno != EINVAL && errno != EBADF)
		status = -errno;
	return status;
}

static int file_replace(const char *path, const void *bytes, size_t length, bool durable, struct ada_error *error)
{
	char directory[PATH_MAX], shown[PATH_MAX];
	const char *slash = strrchr(path, '/');
	int fd, status = slash ? ada_path(directory, "%.*s", (int)(slash - path + 1), path) : ada_path(directory, ".");

	if (!status) {
		fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		status = fd < 0 ? -errno : ada_file_replace_at(fd, slash ? slash + 1 : path, bytes, length, durable);
		if (fd >= 0)
			close(fd);
	}
	return status ? ada_error_system(error, -status, "can't write %s", ada_directory_shown(path, shown)) : 0;
}

int ada_file_replace(const char *path, const void *bytes, size_t length, struct ada_error *error)
{
	return file_replace(path, bytes, length, true, error);
}

int ada_file_replace_soon(const char *path, const void *bytes, size_t length, struct ada_error *error)
{
	return file_replace(path, bytes, length, false, error);
}

int ada_path(char *path, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(path, PATH_MAX, format, arguments);
	va_end(arguments);
	return length < 0 || length >= PATH_MAX ? -ENAMETOOLONG : 0;
}

bool ada_file_is_held(const char *path, int flags)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | flags);
	bool held = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return held;
}
