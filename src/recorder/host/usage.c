#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"
#include "recorder/host/usage.h"

#define NO_LIMIT (1ull << 60) /* cgroup v1 says "none" by a number near 2^63 */

/* The kernel's own clock of the process: /proc/PID/stat counts in 10 ms. */
bool ada_usage_resident_bytes(pid_t pid, uint64_t *bytes)
{
	char path[40], *text;
	size_t length;
	unsigned long long pages = 0;
	bool found;

	snprintf(path, sizeof path, "/proc/%d/statm", pid);
	if (ada_file_read(path, &text, &length, NULL))
		return false;
	found = sscanf(text, "%*u %llu", &pages) == 1;
	free(text);
	*bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	return found;
}

/* Reads the number behind `key` at a line's start; where key is "", the file is one number. "max" is no number. */
static bool read_number(const char *path, const char *key, uint64_t *number)
{
	size_t length, key_length = strlen(key);
	char *text, *end = NULL;
	bool found;

	if (ada_file_read(path, &text, &length, NULL))
		return false;
	for (const char *line = text; line && !end; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
		if (!strncmp(line, key, key_length)) {
			const char *digits = line + key_length + strspn(line + key_length, " \t:");

			*number = strtoull(digits, &end, 10);
			if (end == digits)
				break;
		}
	found = end != NULL && *text;
	free(text);
	return found;
}

static bool machine_share(const char *root, double *share)
{
	char path[PATH_MAX];
	uint64_t total, available;

	if (ada_path(path, "%s/proc/meminfo", root) || !read_number(path, "MemTotal", &total) ||
	    !read_number(path, "MemAvailable", &available) || !total)
		return false;
	*share = available < total ? (double)(total - available) / (double)total : 0;
	return true;
}

/* Pages of files that nobody used lately go first when memory is short: they don't count. */
static bool group_share(const char *directory, bool v2, double *share)
{
	char path[PATH_MAX];
	uint64_t used, limit, idle = 0;

	if (ada_path(path, "%s/%s", directory, v2 ? "memory.max" : "memory.limit_in_bytes") || !read_number(path, "", &limit) || !limit ||
	    limit >= NO_LIMIT)
		return false;
	if (ada_path(path, "%s/%s", directory, v2 ? "memory.current" : "memory.usage_in_bytes") || !read_number(path, "", &used))
		return false;
	if (!ada_path(path, "%s/memory.stat", directory) && !read_number(path, v2 ? "inactive_file" : "total_inactive_file", &idle))
		idle = 0;
	*share = used > idle ? (double)(used - idle) / (double)limit : 0;
	return true;
}

/* The process's path in the memory hierarchy: "0::/PATH" (v2) or "N:...memory...:/PATH" (v1, which goes before). */
static bool find_group(const char *root, pid_t pid, char group[PATH_MAX], bool *v2)
{
	char path[PATH_MAX], *text, *rest;
	size_t length;
	bool found = false;

	if (ada_path(path, "%s/proc/%d/cgroup", root, pid) || ada_file_read(path, &text, &length, NULL))
		return false;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *names = strchr(line, ':'), *place = names ? strchr(names + 1, ':') : NULL;
		bool memory;

		if (!place)
			continue;
		*place++ = 0;
		memory = strstr(names + 1, "memory") != NULL;
		if ((!memory && (names[1] || found)) || ada_path(group, "%s/sys/fs/cgroup%s%s", root, memory ? "/memory" : "", place))
			continue;
		found = true;
		*v2 = !memory;
	}
	free(text);
	return found;
}

bool ada_usage_memory_share(const char *root, pid_t pid, double *share)
{
	char group[PATH_MAX], top[PATH_MAX];
	double of_group;
	bool v2 = false, known = machine_share(root, share);

	if (!find_group(root, pid, group, &v2) || ada_path(top, "%s/sys/fs/cgroup%s", root, v2 ? "" : "/memory"))
		return known;
	/* A limit holds for all groups below: so we go up to the top, which has a limit where it is a container's. */
	for (;;) {
		char *slash;

		if (group_share(group, v2, &of_group) && (!known || of_group > *share)) {
			*share = of_group;
			known = true;
		}
		slash = strrchr(group, '/');
		if (!slash || strlen(group) <= strlen(top))
			return known;
		*slash = 0;
	}
}
