#include "recover/leftovers.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/directory.h"
#include "recorder/server.h"

#define RANDOM_CHARACTERS 6	/* of mkdtemp */

static bool is_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return *path == '/' && slash && !strncmp(slash + 1, ADA_SERVER_PREFIX, strlen(ADA_SERVER_PREFIX)) &&
	       strlen(slash + 1) == strlen(ADA_SERVER_PREFIX) + RANDOM_CHARACTERS;
}

/* Ours alone: nobody else can have put anything into it. -1: it isn't, or not there. */
static int open_own(const char *path)
{
	int fd = is_name(path) ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
	struct stat status;

	if (fd < 0 || (!fstat(fd, &status) && status.st_uid == geteuid() && !(status.st_mode & 077)))
		return fd;
	close(fd);
	return -1;
}

/* Asked with a socket of a kind that no recorder listens with: a live one refuses it for its kind, and hears nothing of it. */
static bool is_dead_socket(int directory, const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char place[ADA_DIRECTORY_PATH_BYTES];
	struct stat status;
	bool dead;

	ada_directory_path(directory, place);
	dead = fd >= 0 && !fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) && S_ISSOCK(status.st_mode) &&
	       snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", place, name) < (int)sizeof address.sun_path &&
	       connect(fd, (const struct sockaddr *)&address, sizeof address) && errno == ECONNREFUSED;
	if (fd >= 0)
		close(fd);
	return dead;
}

/* Nothing but sockets, at least one, and all of them dead; then removed, if that is wanted. */
static bool look_through(int directory, bool away)
{
	int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = copy >= 0 ? fdopendir(copy) : NULL;
	struct dirent *entry;
	size_t sockets = 0;
	bool dead = stream;

	while (dead && (entry = readdir(stream))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		sockets++;
		dead = away ? !unlinkat(directory, entry->d_name, 0) : is_dead_socket(directory, entry->d_name);
	}
	if (stream)
		closedir(stream);
	else if (copy >= 0)
		close(copy);
	return dead && sockets;
}

bool ada_leftover_is_dead(const char *path)
{
	int directory = open_own(path);
	bool dead = directory >= 0 && look_through(directory, false);

	if (directory >= 0)
		close(directory);
	return dead;
}

bool ada_leftover_remove(const char *path)
{
	int directory = open_own(path);
	bool gone = directory >= 0 && look_through(directory, false) && look_through(directory, true) && !rmdir(path);

	if (directory >= 0)
		close(directory);
	return gone;
}
