/* See directory.h. The walk goes part by part; each is opened without following it, so that what is looked at and what is gone
 * into are the same. */
#include "base/directory.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"

#define LINKS_MAX 40
#define PART_FLAGS (O_PATH | O_NOFOLLOW | O_CLOEXEC)

struct walk {
	const char *path; /* the whole */
	struct ada_error *error;
	int fd;		     /* where it is */
	char rest[PATH_MAX]; /* what it still has to go */
	unsigned int links;
};

static bool trusted(uid_t owner)
{
	return owner == geteuid() || owner == 0;
}

int ada_directory_owned(int directory)
{
	struct stat found;

	if (fstat(directory, &found))
		return -errno;
	return trusted(found.st_uid) ? 0 : -EPERM;
}

static int walk_start(struct walk *walk)
{
	int fd = open(walk->rest[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (walk->fd >= 0)
		close(walk->fd);
	walk->fd = fd;
	return 0;
}

/* The link's text takes its place on the way. */
static int walk_link(struct walk *walk, int link, const char *rest)
{
	char text[PATH_MAX], whole[PATH_MAX];
	ssize_t length;

	if (++walk->links > LINKS_MAX)
		return -ELOOP;
	length = readlinkat(link, "", text, sizeof text - 1);
	if (length < 0)
		return -errno;
	text[length] = 0;
	if (ada_path(whole, "%s/%s", text, rest))
		return -ENAMETOOLONG;
	memcpy(walk->rest, whole, sizeof whole);
	return text[0] == '/' ? walk_start(walk) : 0;
}

static int walk_make(const struct walk *walk, const char *name, unsigned flags)
{
	int status = flags & ADA_DIRECTORY_OURS ? ada_directory_owned(walk->fd) : 0;

	if (status)
		return status;
	return mkdirat(walk->fd, name, 0700) ? -errno : 0;
}

/* One part further. *made: it wasn't there. */
static int walk_step(struct walk *walk, unsigned flags, bool *made)
{
	char name[NAME_MAX + 1];
	char *start = walk->rest + strspn(walk->rest, "/"), *end = strchrnul(start, '/');
	struct stat found;
	int part, status;

	*made = false;
	if (end - start > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(name, start, (size_t)(end - start));
	name[end - start] = 0;
	part = openat(walk->fd, name, PART_FLAGS | O_DIRECTORY); /* mounts what is to be mounted there */
	if (part < 0 && errno == ENOENT && (flags & ADA_DIRECTORY_MAKE)) {
		status = walk_make(walk, name, flags);
		if (status && status != -EEXIST)
			return status;
		*made = !status;
	}
	if (part < 0)
		part = openat(walk->fd, name, PART_FLAGS);
	if (part < 0)
		return -errno;
	status = fstat(part, &found) ? -errno : 0;
	if (!status && S_ISLNK(found.st_mode)) {
		if (trusted(found.st_uid))
			status = walk_link(walk, part, end);
		else
			status = ada_error_set(walk->error, EPERM, "%s: %s is a link of another user", walk->path, name);
		close(part);
		return status;
	}
	if (!status && !S_ISDIR(found.st_mode))
		status = -ENOTDIR;
	if (status) {
		close(part);
		return status;
	}
	close(walk->fd);
	walk->fd = part;
	memmove(walk->rest, end, strlen(end) + 1);
	return 0;
}

static bool walk_is_over(const struct walk *walk)
{
	return !walk->rest[strspn(walk->rest, "/")];
}

int ada_directory_open(const char *path, unsigned flags, bool *made, struct ada_error *error)
{
	struct walk walk = { .path = path, .error = error, .fd = -1 };
	bool last = false;
	struct stat found;
	int fd, status = *path ? ada_path(walk.rest, "%s", path) : -ENOENT;

	if (!status)
		status = walk_start(&walk);
	while (!status && !walk_is_over(&walk))
		status = walk_step(&walk, flags, &last);
	if (!status && (flags & ADA_DIRECTORY_OURS) && (fstat(walk.fd, &found) || found.st_uid != geteuid()))
		status = -EPERM;
	if (made)
		*made = !status && last;
	if (status) {
		if (walk.fd >= 0)
			close(walk.fd);
		return ada_error_system(error, -status, "can't make directory %s", path);
	}
	/* So that it can be synced. Who may not list it may still make things in it. */
	fd = openat(walk.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return walk.fd;
	close(walk.fd);
	return fd;
}

int ada_directory_add(int parent, const char *name)
{
	int fd, status;

	if (mkdirat(parent, name, 0700))
		return -errno;
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOTDIR || errno == ELOOP ? -EPERM : -errno;
	status = ada_directory_owned(fd);
	if (!status)
		return fd;
	close(fd);
	return status;
}

int ada_directory_private(int parent, const char *path)
{
	int fd = openat(parent, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat found;

	if (fd < 0 || (!fstat(fd, &found) && found.st_uid == geteuid() && !(found.st_mode & 077)))
		return fd;
	close(fd);
	errno = EPERM;
	return -1;
}

void ada_directory_path(int directory, char path[ADA_DIRECTORY_PATH_BYTES])
{
	snprintf(path, ADA_DIRECTORY_PATH_BYTES, "/proc/self/fd/%d", directory);
}

const char *ada_directory_shown(const char *path, char shown[PATH_MAX])
{
	static const char prefix[] = "/proc/self/fd/";
	char link[ADA_DIRECTORY_PATH_BYTES], name[PATH_MAX];
	size_t bytes = sizeof prefix - 1;
	ssize_t length;

	if (strncmp(path, prefix, bytes))
		return path;
	bytes += strspn(path + bytes, "0123456789");
	if (bytes >= sizeof link)
		return path;
	memcpy(link, path, bytes);
	link[bytes] = 0;
	length = readlink(link, name, sizeof name - 1);
	if (length < 0)
		return path;
	name[length] = 0;
	return ada_path(shown, "%s%s", name, path + bytes) ? path : shown;
}
