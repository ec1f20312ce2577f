/* What is made is made in a directory of its own beside its place (`NAME.ada-XXXXXX/NAME`), so that whatever a format needs
 * meanwhile (SQLite's journal) goes with it, and moves by one rename. */
#include "cli/export_target.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
	remove(path);
	return 0;
}

void ada_target_abandon(struct ada_target *target)
{
	if (target->fd >= 0 && target->fd != STDOUT_FILENO)
		close(target->fd);
	target->fd = -1;
	if (target->made)
		nftw(target->beside, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	target->made = false;
}

static int make_beside(struct ada_target *target, struct ada_error *error)
{
	const char *name = strrchr(target->path, '/');
	int result = ada_path(target->beside, "%s.ada-XXXXXX", target->path);

	if (!result && !mkdtemp(target->beside))
		result = -errno;
	if (result)
		return ada_error_system(error, -result, "can't write %s", target->path);
	target->made = true;
	result = ada_path(target->inside, "%s/%s", target->beside, name ? name + 1 : target->path);
	return result ? ada_error_system(error, -result, "can't write %s", target->path) : 0;
}

static int open_inside(struct ada_target *target, struct ada_error *error)
{
	target->fd = open(target->inside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (target->fd < 0)
		return ada_error_system(error, errno, "can't write %s", target->path);
	return 0;
}

/* Devices and pipes are written in place. */
static int open_in_place(struct ada_target *target, struct ada_error *error)
{
	target->fd = open(target->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	return target->fd < 0 ? ada_error_system(error, errno, "can't write %s", target->path) : 0;
}

static int open_path(struct ada_target *target, const struct ada_export_format *format, struct ada_error *error)
{
	struct stat there = {};
	bool exists = !stat(target->path, &there);
	bool stream = format->kind == ADA_EXPORT_TEXT || format->kind == ADA_EXPORT_BINARY;
	int result;

	if (!exists && errno != ENOENT)
		return ada_error_system(error, errno, "can't write %s", target->path);
	if (exists && format->kind == ADA_EXPORT_DIRECTORY)
		return ada_error_set(error, EEXIST, "%s exists: --format=%s makes a new directory", target->path, format->name);
	if (exists && S_ISDIR(there.st_mode))
		return ada_error_set(error, EISDIR, "%s is a directory: --format=%s makes a file", target->path, format->name);
	if (exists && !S_ISREG(there.st_mode))
		return stream ? open_in_place(target, error) :
				ada_error_set(error, EINVAL, "%s is no regular file: --format=%s needs one", target->path,
					      format->name);
	if (exists)
		target->mode = there.st_mode & 07777;
	result = make_beside(target, error);
	return result || !stream ? result : open_inside(target, error);
}

/* The file that a link stands for: that is what is replaced. Trailing slashes, as of a directory to come, go. */
static int resolve(struct ada_target *target, const char *path, struct ada_error *error)
{
	char *real = realpath(path, NULL);
	int result = ada_path(target->path, "%s", real ? real : path);
	size_t length = result ? 0 : strlen(target->path);

	free(real);
	if (result || !length)
		return ada_error_system(error, result ? -result : ENOENT, "--output '%s'", path);
	while (length > 1 && target->path[length - 1] == '/')
		target->path[--length] = 0;
	return 0;
}

int ada_target_open(struct ada_target *target, const struct ada_export_format *format, const char *path, struct ada_error *error)
{
	bool standard = !path || !strcmp(path, "-");
	int result = 0;

	*target = (struct ada_target){ .name = standard ? "standard output" : path, .fd = -1 };
	if (format->kind == ADA_EXPORT_SERVER)
		return path ? ada_error_set(error, EINVAL, "--format=%s goes to a server, not to --output", format->name) : 0;
	if (standard && format->kind == ADA_EXPORT_DIRECTORY)
		return ada_error_set(error, EINVAL, "--format=%s makes a directory: name one with --output=DIRECTORY", format->name);
	if (standard && format->kind == ADA_EXPORT_FILE)
		return ada_error_set(error, EINVAL, "--format=%s makes a file: name one with --output=FILE", format->name);
	if (standard)
		target->fd = STDOUT_FILENO;
	else
		result = resolve(target, path, error);
	if (!result && !standard)
		result = open_path(target, format, error);
	if (!result && format->kind == ADA_EXPORT_BINARY && isatty(target->fd))
		result = ada_error_set(error, EINVAL, "%s is binary, nothing for a terminal: name a file with --output=FILE",
				       format->name);
	if (result)
		ada_target_abandon(target);
	return result;
}

int ada_target_finish(struct ada_target *target, struct ada_error *error)
{
	int result = 0;

	if (target->fd >= 0 && target->fd != STDOUT_FILENO && close(target->fd))
		result = -errno;
	target->fd = -1;
	if (!result && target->made && target->mode && chmod(target->inside, target->mode))
		result = -errno;
	if (!result && target->made && rename(target->inside, target->path))
		result = -errno;
	if (result)
		ada_error_system(error, -result, "can't write %s", target->name);
	ada_target_abandon(target);
	return result;
}
