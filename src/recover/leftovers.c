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
#include <time.h>
#include <unistd.h>
#include "abi/arena.h"
#include "base/directory.h"
#include "recorder/control/control.h"
#include "recorder/index/shared.h"
#include "recorder/process/server.h"

#define RANDOM_CHARACTERS 6 /* of mkdtemp */
#define YOUNG_SECONDS 60    /* it may be about to begin: lock and listener come after the name */

static bool is_young(int directory)
{
	struct stat status;

	return fstat(directory, &status) || status.st_ctime > time(NULL) - YOUNG_SECONDS;
}

/* Calls what() for each entry while that returns true. False: it returned false, or the directory can't be read. */
static bool each_entry(int directory, bool (*what)(int directory, const char *name, void *context), void *context)
{
	int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = copy >= 0 ? fdopendir(copy) : NULL;
	struct dirent *entry;
	bool all = stream;

	while (all && (entry = readdir(stream)))
		all = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") || what(directory, entry->d_name, context);
	if (stream)
		closedir(stream);
	else if (copy >= 0)
		close(copy);
	return all;
}

static bool remove_entry(int directory, const char *name, void *context)
{
	return !unlinkat(directory, name, 0);
}

/* --- sockets ---------------------------------------------------------------------------------------------------------- */

static bool is_name(const char *name)
{
	size_t prefix = strlen(ADA_SERVER_PREFIX);

	return !strncmp(name, ADA_SERVER_PREFIX, prefix) && strlen(name) == prefix + RANDOM_CHARACTERS;
}

/* Connects with a socket of a kind that no recorder listens with: the kernel refuses that for its kind where a recorder lives, and the
 * recorder hears nothing. */
static bool is_dead_socket(int directory, const char *name, void *context)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char place[ADA_DIRECTORY_PATH_BYTES];
	struct stat status;
	bool dead;

	++*(size_t *)context;
	ada_directory_path(directory, place);
	dead = fd >= 0 && !fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) && S_ISSOCK(status.st_mode) &&
	       snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", place, name) < (int)sizeof address.sun_path &&
	       connect(fd, (const struct sockaddr *)&address, sizeof address) && errno == ECONNREFUSED;
	if (fd >= 0)
		close(fd);
	return dead;
}

/* Nothing but sockets, at least one, and nobody listens to any. */
static bool are_dead_sockets(int directory)
{
	size_t count = 0;

	return each_entry(directory, is_dead_socket, &count) && count;
}

void ada_leftover_remove_sockets(const char *path)
{
	const char *slash = strrchr(path, '/');
	int directory = *path == '/' && slash && is_name(slash + 1) ? ada_directory_private(AT_FDCWD, path) : -1;

	if (directory < 0)
		return;
	if (are_dead_sockets(directory) && each_entry(directory, remove_entry, NULL))
		rmdir(path);
	close(directory);
}

/* --- memory ----------------------------------------------------------------------------------------------------------- */

static bool add_bytes(int directory, const char *name, void *context)
{
	struct stat status;

	if (!fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW))
		*(uint64_t *)context += (uint64_t)status.st_blocks * 512;
	return true;
}

/* The recorder had locked the arena before it wrote this. A recorder that is about to lock must not find the arena locked by us. */
static bool is_begun(int directory)
{
	int arena = openat(directory, ADA_SHARED_ARENA, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char magic[8];
	bool begun = arena >= 0 && read(arena, magic, sizeof magic) == sizeof magic && !memcmp(magic, ADA_ARENA_MAGIC, sizeof magic);

	if (arena >= 0)
		close(arena);
	return begun;
}

static void read_session(int directory, char session[PATH_MAX])
{
	int fd = openat(directory, ADA_SHARED_SESSION, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char text[PATH_MAX + 128];
	ssize_t length = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
	char *line;

	if (fd >= 0)
		close(fd);
	text[length > 0 ? length : 0] = 0;
	line = strstr(text, "\nsession ");
	snprintf(session, PATH_MAX, "%s", line ? line + strlen("\nsession ") : "");
}

/* Removes also the user's own directory, if this was the last one in it. */
static bool remove_held(int directory, const char *path)
{
	bool gone = each_entry(directory, remove_entry, NULL) && !rmdir(path);
	char home[256], *slash;

	snprintf(home, sizeof home, "%s", path);
	slash = strrchr(home, '/');
	if (gone && slash) {
		*slash = 0;
		rmdir(home);
	}
	return gone;
}

/* --- both --------------------------------------------------------------------------------------------------------------- */

struct search {
	struct ada_leftovers *leftovers;
	const char *place;
	bool memory;
	int result;
};

static bool look_at(int parent, const char *name, void *context)
{
	struct search *search = context;
	struct ada_leftover leftover = { .memory = search->memory };
	int directory = search->memory || is_name(name) ? ada_directory_private(parent, name) : -1, arena = -1;
	bool young = directory >= 0 && is_young(directory), dead = false;

	leftover.young = young;
	if (directory >= 0 && search->memory)
		dead = (!young || is_begun(directory)) && ada_shared_is_dead(directory, &arena);
	else if (directory >= 0)
		dead = !young && are_dead_sockets(directory);

	if (dead && snprintf(leftover.path, sizeof leftover.path, "%s/%s", search->place, name) < (int)sizeof leftover.path) {
		each_entry(directory, add_bytes, &leftover.bytes);
		if (search->memory)
			read_session(directory, leftover.session);
		search->result = ada_array_push(&search->leftovers->dead, leftover);
	}
	if (arena >= 0)
		close(arena);
	if (directory >= 0)
		close(directory);
	return !search->result;
}

static int search_place(struct ada_leftovers *leftovers, const char *place, bool memory)
{
	struct search search = { leftovers, place, memory, 0 };
	int directory = memory ? ada_directory_private(AT_FDCWD, place) : open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (directory < 0)
		return 0;
	each_entry(directory, look_at, &search);
	close(directory);
	return search.result;
}

int ada_leftovers_find(struct ada_leftovers *leftovers)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char home[ADA_SHARED_NAME_BYTES];
	int result;

	ada_shared_home_path(home);
	result = search_place(leftovers, home, true);
	if (!result && runtime && *runtime == '/')
		result = search_place(leftovers, runtime, false);
	return result ? result : search_place(leftovers, "/tmp", false);
}

/* --- of one session ----------------------------------------------------------------------------------------------------- */

struct wanted {
	struct ada_leftover_memory *memory;
	const char *session, *home;
};

static bool hold_it(int parent, const char *name, void *context)
{
	struct wanted *wanted = context;
	struct ada_leftover_memory *memory = wanted->memory;
	int directory = ada_directory_private(parent, name), arena = -1;
	char session[PATH_MAX];

	if (directory < 0)
		return true;
	read_session(directory, session);
	if (!strcmp(session, wanted->session) && ada_shared_is_dead(directory, &arena) && arena >= 0 &&
	    snprintf(memory->path, sizeof memory->path, "%s/%s", wanted->home, name) < (int)sizeof memory->path) {
		memory->directory = directory;
		memory->arena = arena;
		return false;
	}
	if (arena >= 0)
		close(arena);
	close(directory);
	return true;
}

bool ada_leftover_hold(struct ada_leftover_memory *memory, const char *session)
{
	char home[ADA_SHARED_NAME_BYTES];
	struct wanted wanted = { memory, session, home };
	int directory;

	*memory = (struct ada_leftover_memory){ .directory = -1, .arena = -1 };
	ada_shared_home_path(home);
	directory = ada_directory_private(AT_FDCWD, home);
	if (directory < 0)
		return false;
	each_entry(directory, hold_it, &wanted);
	close(directory);
	return memory->arena >= 0;
}

void ada_leftover_let_go(struct ada_leftover_memory *memory, bool written)
{
	if (written && memory->arena >= 0)
		remove_held(memory->directory, memory->path);
	if (memory->arena >= 0)
		close(memory->arena);
	if (memory->directory >= 0)
		close(memory->directory);
}

/* --- removing ----------------------------------------------------------------------------------------------------------- */

static bool remove_memory(const char *path)
{
	int directory = ada_directory_private(AT_FDCWD, path), arena = -1;
	bool gone = directory >= 0 && ada_shared_is_dead(directory, &arena) && remove_held(directory, path);

	if (arena >= 0)
		close(arena);
	if (directory >= 0)
		close(directory);
	return gone;
}

bool ada_leftover_remove(const struct ada_leftover *leftover)
{
	if (leftover->memory)
		return remove_memory(leftover->path);
	ada_leftover_remove_sockets(leftover->path);
	return access(leftover->path, F_OK) && errno == ENOENT;
}
