/* An export is made in a directory of its own beside its place (`NAME.ada-XXXXXX/NAME`) and moved by one rename; whatever a format needs
 * meanwhile (SQLite's journal) goes with that directory. Both directories are held open: where the outer one is another user's, names in
 * it lead where that user likes. */
#include "cli/show/export_target.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/directory.h"
#include "base/file.h"

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Removes all that a directory of ours holds: files, and directories of files (CTF makes one). Closes the directory. */
static void empty(int directory)
{
	DIR *listing = fdopendir(directory);
	struct dirent *entry;

	if (!listing) {
		close(directory);
		return;
	}
	while ((entry = readdir(listing))) {
		int inner;

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") || !unlinkat(directory, entry->d_name, 0))
			continue;
		inner = openat(directory, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (inner < 0)
			continue;
		empty(inner);
		unlinkat(directory, entry->d_name, AT_REMOVEDIR);
	}
	closedir(listing);
}

void ada_target_abandon(struct ada_target *target)
{
	if (target->fd >= 0 && target->fd != STDOUT_FILENO)
		close(target->fd);
	target->fd = -1;
	if (target->inside_fd >= 0) {
		empty(target->inside_fd);
		unlinkat(target->parent_fd, last_part(target->beside), AT_REMOVEDIR);
	}
	if (target->parent_fd >= 0)
		close(target->parent_fd);
	target->parent_fd = target->inside_fd = -1;
}

static int open_parent(struct ada_target *target)
{
	char directory[PATH_MAX];
	int result = ada_path(directory, "%.*s.", (int)(last_part(target->path) - target->path), target->path);

	if (result)
		return result;
	target->parent_fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return target->parent_fd < 0 ? -errno : 0;
}

static int make_beside(struct ada_target *target, struct ada_error *error)
{
	char place[ADA_DIRECTORY_PATH_BYTES], path[PATH_MAX];
	const char *name = last_part(target->path);
	int result = open_parent(target);

	if (result)
		return ada_error_system(error, -result, "can't write %s", target->path);
	ada_directory_path(target->parent_fd, place);
	result = ada_path(path, "%s/%s.ada-XXXXXX", place, name);
	if (!result && !mkdtemp(path))
		result = -errno;
	if (result)
		return ada_error_system(error, -result, "can't write %s", target->path);
	target->inside_fd = openat(target->parent_fd, last_part(path), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	result = target->inside_fd < 0 ? -errno : ada_directory_owned(target->inside_fd);
	if (!result)
		result = ada_path(target->beside, "%.*s%s", (int)(name - target->path), target->path, last_part(path));
	if (!result)
		result = ada_path(target->inside, "%s/%s", target->beside, name);
	return result ? ada_error_system(error, -result, "can't write %s", target->path) : 0;
}

/* Makes the file, empty and private, also where a library writes it by its path afterwards. */
static int open_inside(struct ada_target *target, struct ada_error *error)
{
	target->fd = openat(target->inside_fd, last_part(target->path), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (target->fd < 0)
		return ada_error_system(error, errno, "can't write %s", target->path);
	return 0;
}

/* Devices and pipes are written in place. */
static int open_in_place(struct ada_target *target, struct ada_error *error)
{
	target->stream = true;
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
				ada_error_set(error, EINVAL, "%s is no regular file: --format=%s needs one", target->path, format->name);
	if (exists)
		target->mode = there.st_mode & 0777;
	result = make_beside(target, error);
	if (!result && format->kind != ADA_EXPORT_DIRECTORY)
		result = open_inside(target, error);
	target->stream = stream;
	return result;
}

/* Finds the file that a link stands for, which is the one to replace. Trailing slashes, as of a directory to come, go. */
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

	*target = (struct ada_target){ .name = standard ? "standard output" : path, .fd = -1, .parent_fd = -1, .inside_fd = -1 };
	if (format->kind == ADA_EXPORT_SERVER)
		return path ? ada_error_set(error, EINVAL, "--format=%s goes to a server, not to --output", format->name) : 0;
	if (standard && format->kind == ADA_EXPORT_DIRECTORY)
		return ada_error_set(error, EINVAL, "--format=%s makes a directory: name one with --output=DIRECTORY", format->name);
	if (standard && format->kind == ADA_EXPORT_FILE)
		return ada_error_set(error, EINVAL, "--format=%s makes a file: name one with --output=FILE", format->name);
	if (standard) {
		target->stream = true;
		target->fd = STDOUT_FILENO;
	} else {
		result = resolve(target, path, error);
	}
	if (!result && !standard)
		result = open_path(target, format, error);
	if (!result && format->kind == ADA_EXPORT_BINARY && isatty(target->fd))
		result = ada_error_set(error, EINVAL, "%s is binary, nothing for a terminal: name a file with --output=FILE", format->name);
	if (result)
		ada_target_abandon(target);
	return result;
}

int ada_target_finish(struct ada_target *target, struct ada_error *error)
{
	const char *name = last_part(target->path);
	struct stat made;
	int result = 0;

	if (target->inside_fd >= 0 && target->mode && fchmod(target->fd, target->mode))
		result = -errno;
	/* If the directory was exchanged meanwhile, a library that wrote by the path has made another file. */
	if (!result && target->inside_fd >= 0 && !target->stream && target->fd >= 0 && !fstat(target->fd, &made) && !made.st_size)
		result = -ESTALE;
	if (target->fd >= 0 && target->fd != STDOUT_FILENO && close(target->fd) && !result)
		result = -errno;
	target->fd = -1;
	if (!result && target->inside_fd >= 0 && renameat(target->inside_fd, name, target->parent_fd, name))
		result = -errno;
	if (result)
		ada_error_system(error, -result, "can't write %s", target->name);
	ada_target_abandon(target);
	return result;
}
