#include "recorder/host/limit.h"
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"

#define GROUPS "/sys/fs/cgroup"
#define SHARE 4		       /* the pools' share of what a group leaves: one part in ... */
#define MACHINE_SHARE 8	       /* the machine's memory that the pools leave alone */
#define UNLIMITED (1ull << 62) /* version 1 says so by a huge number */

/* Files of a control group, by version. Page cache counts as used there, though it goes when it must. */
struct names {
	const char *limit, *used, *inactive, *active;
};
static const struct names version_1 = { "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file", "total_active_file" };
static const struct names version_2 = { "memory.max", "memory.current", "inactive_file", "active_file" };

/* False: no such file. */
static bool read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[got > 0 ? got : 0] = 0;
	return got > 0;
}

/* The number behind a name at the beginning of a line; 0: not there. */
static uint64_t number_of(const char *text, const char *name)
{
	size_t length = strlen(name);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, name, length) && strchr(" :", line[length]))
			return strtoull(line + length + 1, NULL, 10);
	}
	return 0;
}

static bool read_file(const char *directory, const char *name, char *text, size_t size)
{
	char path[PATH_MAX];

	return !ada_path(path, "%s/%s", directory, name) && read_text(path, text, size);
}

static uint64_t group_left(const char *directory, const struct names *names)
{
	char text[8192];
	uint64_t cache = 0, limit, used;

	if (!read_file(directory, names->limit, text, sizeof text) || !strncmp(text, "max", 3))
		return UINT64_MAX;
	limit = strtoull(text, NULL, 10);
	if (limit >= UNLIMITED || !read_file(directory, names->used, text, sizeof text))
		return UINT64_MAX;
	used = strtoull(text, NULL, 10);
	if (read_file(directory, "memory.stat", text, sizeof text))
		cache = number_of(text, names->inactive) + number_of(text, names->active);
	used = used > cache ? used - cache : 0;
	return used < limit ? limit - used : 0;
}

/* Looks at the group and those that contain it: each has a limit of its own. */
static uint64_t path_left(const char *root, const char *group, size_t length, const struct names *names)
{
	char directory[PATH_MAX];
	uint64_t least = UINT64_MAX;

	for (;;) {
		uint64_t left;

		if (ada_path(directory, "%s%.*s", root, (int)length, group))
			return least;
		left = group_left(directory, names);
		least = left < least ? left : least;
		if (!length)
			return least;
		while (length && group[--length] != '/')
			;
	}
}

/* Whether `memory` is in the list of controllers in a line of /proc/PID/cgroup. */
static bool has_memory(const char *list, size_t length)
{
	for (const char *word = list; word < list + length; word++) {
		size_t rest = strcspn(word, ",:");

		if (rest == 6 && !memcmp(word, "memory", 6))
			return true;
		word += rest;
	}
	return false;
}

uint64_t ada_limit_groups_left(const char *groups, const char *root)
{
	char place[PATH_MAX];
	uint64_t least = UINT64_MAX;

	for (const char *line = groups; *line;) {
		size_t end = strcspn(line, "\n");
		const char *list = memchr(line, ':', end), *path = list ? memchr(list + 1, ':', end - (size_t)(list + 1 - line)) : NULL;

		if (path) {
			size_t length = end - (size_t)(path + 1 - line), list_length = (size_t)(path - list - 1);
			bool second = !list_length;

			/* Version 2 alone is mounted at the root; beside version 1 it is mounted below, and doesn't control memory. */
			if (second || (has_memory(list + 1, list_length) && !ada_path(place, "%s/memory", root))) {
				uint64_t left = path_left(second ? root : place, path + 1, length, second ? &version_2 : &version_1);

				least = left < least ? left : least;
			}
		}
		line += end + (line[end] == '\n');
	}
	return least;
}

static uint64_t machine_room(void)
{
	char text[4096];
	uint64_t all, available;

	if (!read_text("/proc/meminfo", text, sizeof text))
		return UINT64_MAX;
	all = number_of(text, "MemTotal") << 10;
	available = number_of(text, "MemAvailable") << 10;
	return available > all / MACHINE_SHARE ? available - all / MACHINE_SHARE : 0;
}

/* The groups of a process, one a line. False: not to be read. */
static bool read_groups(pid_t pid, char *groups, size_t size)
{
	char path[40];

	snprintf(path, sizeof path, "/proc/%d/cgroup", pid);
	return read_text(path, groups, size);
}

/* What the process's control groups leave; UINT64_MAX: no limit, or none that can be read. */
static uint64_t left_of(pid_t pid)
{
	char groups[8192];

	return read_groups(pid, groups, sizeof groups) ? ada_limit_groups_left(groups, GROUPS) : UINT64_MAX;
}

static uint64_t room_of(uint64_t machine, uint64_t left, uint64_t used_bytes)
{
	uint64_t share, room;

	if (left == UINT64_MAX)
		return machine;
	/* The groups count the pools' memory as used: the pools get a share of all that isn't the program's own. */
	share = (left + used_bytes) / SHARE;
	room = share > used_bytes ? share - used_bytes : 0;
	return room < machine ? room : machine;
}

uint64_t ada_limit_room(pid_t pid, uint64_t used_bytes)
{
	return room_of(machine_room(), left_of(pid), used_bytes);
}

bool ada_limit_is_shared(pid_t pid)
{
	char own[8192], its[8192];

	return read_groups(getpid(), own, sizeof own) && read_groups(pid, its, sizeof its) && !strcmp(own, its);
}

struct ada_limits ada_limits_of(pid_t pid, uint64_t used_bytes)
{
	char own[8192], its[8192];
	bool own_read = read_groups(getpid(), own, sizeof own), its_read = read_groups(pid, its, sizeof its);
	uint64_t own_left = own_read ? ada_limit_groups_left(own, GROUPS) : UINT64_MAX;
	uint64_t left = !its_read ? UINT64_MAX : own_read && !strcmp(own, its) ? own_left : ada_limit_groups_left(its, GROUPS);
	uint64_t machine = machine_room();

	return (struct ada_limits){ room_of(machine, left, used_bytes), room_of(machine, own_left, used_bytes), own_left };
}
