/* See file.h. */
#include "base/file.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/array.h"

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
static int file_read_fd(int fd, char **bytes, size_t *length)
{
	ADA_ARRAY(char) text = {0};
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
	status = file_read_fd(fd, bytes, length);
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
	status = file_read_fd(fd, bytes, length);
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

static int file_write_new(const char *path, const void *bytes, size_t length)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), status;

	if (fd < 0)
		return -errno;
	status = ada_file_write_all(fd, bytes, length);
	if (!status && fsync(fd))
		status = -errno;
	if (close(fd) && !status)
		status = -errno;
	return status;
}

static int file_sync_directory_of(const char *path)
{
	char directory[PATH_MAX];
	const char *slash = strrchr(path, '/');
	int fd, status;

	status = slash ? ada_path(directory, "%.*s", (int)(slash - path + 1), path) : ada_path(directory, ".");
	if (status)
		return status;
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	/* Some file systems can't sync a directory; the rename is then as durable as they make it. */
	status = fsync(fd) && errno != EINVAL ? -errno : 0;
	close(fd);
	return status;
}

int ada_file_replace(const char *path, const void *bytes, size_t length, struct ada_error *error)
{
	char temporary[PATH_MAX];
	int status = ada_path(temporary, "%s.tmp", path);

	if (status)
		return ada_error_system(error, -status, "can't write %s", path);
	status = file_write_new(temporary, bytes, length);
	if (!status && rename(temporary, path))
		status = -errno;
	if (status)
		unlink(temporary);
	else
		status = file_sync_directory_of(path);
	if (status)
		return ada_error_system(error, -status, "can't write %s", path);
	return 0;
}

int ada_directory_make(const char *path, mode_t mode, struct ada_error *error)
{
	char part[PATH_MAX];
	struct stat found;
	int status = ada_path(part, "%s", path);

	if (status)
		return ada_error_system(error, -status, "can't make directory %s", path);
	for (char *slash = part + 1; part[0] && (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		/* What is missing shows at the last part, be it for this reason or for another. */
		mkdir(part, mode);
		*slash = '/';
	}
	if (!mkdir(part, mode))
		return 0;
	status = errno;
	if (status == EEXIST && !stat(part, &found))
		status = S_ISDIR(found.st_mode) ? 0 : ENOTDIR;
	if (status)
		return ada_error_system(error, status, "can't make directory %s", path);
	return 0;
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
