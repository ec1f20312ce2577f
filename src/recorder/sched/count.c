#include "recorder/sched/count.h"
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"

#define TEXT 4096

/* Reads what is at the beginning of a small file; the length, 0 where it can't be read. */
static size_t read_from(int fd, char text[TEXT])
{
	ssize_t length = fd < 0 ? 0 : pread(fd, text, TEXT - 1, 0);

	text[length > 0 ? length : 0] = 0;
	return length > 0 ? (size_t)length : 0;
}

static size_t read_of_thread(int tasks, pid_t tid, const char *file, char text[TEXT])
{
	char path[64];
	int fd;
	size_t length;

	snprintf(path, sizeof path, "%d/%s", tid, file);
	fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
	length = read_from(fd, text);
	if (fd >= 0)
		close(fd);
	return length;
}

bool ada_count_time(int tasks, pid_t tid, struct ada_thread_counts *counts)
{
	char text[TEXT];

	return read_of_thread(tasks, tid, "schedstat", text) &&
	       sscanf(text, "%" SCNu64 " %" SCNu64, &counts->ran_ns, &counts->ready_ns) == 2;
}

bool ada_count_faults(int tasks, pid_t tid, struct ada_thread_counts *counts)
{
	char text[TEXT], *behind;
	unsigned int cpu;

	if (!read_of_thread(tasks, tid, "stat", text) || !(behind = strrchr(text, ')'))) /* the name before it may hold anything */
		return false;
	if (sscanf(behind + 1,
		   " %*c %*d %*d %*d %*d %*d %*u %" SCNu64 " %*u %" SCNu64
		   " %*u %*u %*u %*d %*d %*d %*d %*d %*d %*u %*u %*d %*u %*u %*u %*u"
		   " %*u %*u %*u %*u %*u %*u %*u %*u %*u %*d %u",
		   &counts->minor, &counts->major, &cpu) != 3)
		return false;
	counts->cpu = (uint16_t)cpu;
	return true;
}

size_t ada_count_stolen(uint64_t *stolen_ns, size_t max)
{
	uint64_t tick_ns = 1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK), ticks;
	FILE *file = fopen("/proc/stat", "re");
	size_t count = 0;
	char line[512];
	unsigned int cpu;

	while (file && fgets(line, sizeof line, file) && !strncmp(line, "cpu", 3))
		if (sscanf(line, "cpu%u %*u %*u %*u %*u %*u %*u %*u %" SCNu64, &cpu, &ticks) == 2 && line[3] != ' ' && cpu < max) {
			stolen_ns[cpu] = ticks * tick_ns;
			count = cpu + 1 > count ? cpu + 1 : count;
		}
	if (file)
		fclose(file);
	return count;
}

/* --- control groups ------------------------------------------------------------------------------------------------------ */

static void open_up_to_root(struct ada_groups *groups, const char *root, char *path)
{
	char file[PATH_MAX], *slash;

	for (bool more = true; more && groups->count < ADA_GROUPS_MAX;) {
		int fd = ada_path(file, "%s%s/cpu.stat", root, path) ? -1 : open(file, O_RDONLY | O_CLOEXEC);

		if (fd >= 0)
			groups->files[groups->count++] = fd;
		slash = strrchr(path, '/');
		more = slash && *path;
		if (slash)
			*slash = 0;
	}
}

void ada_groups_open(struct ada_groups *groups, const char *proc, const char *hierarchy)
{
	char path[PATH_MAX], line[PATH_MAX], root[PATH_MAX];
	FILE *file = ada_path(path, "%s/self/cgroup", proc) ? NULL : fopen(path, "re");

	*groups = (struct ada_groups){ .count = 0 };
	while (file && fgets(line, sizeof line, file)) { /* "0::/a/b", or of older systems "4:cpu,cpuacct:/a/b" */
		char *controllers = strchr(line, ':'), *of = controllers ? strchr(controllers + 1, ':') : NULL;

		if (!of)
			continue;
		*of++ = 0;
		of[strcspn(of, "\n")] = 0;
		if (!strcmp(of, "/"))
			*of = 0;
		controllers++;
		if (!*controllers && !ada_path(root, "%s", hierarchy))
			open_up_to_root(groups, root, of);
		else if ((!strcmp(controllers, "cpu") || !strncmp(controllers, "cpu,", 4)) &&
			 !ada_path(root, "%s/%s", hierarchy, controllers))
			open_up_to_root(groups, root, of);
	}
	if (file)
		fclose(file);
}

void ada_groups_close(struct ada_groups *groups)
{
	while (groups->count)
		close(groups->files[--groups->count]);
}

uint64_t ada_groups_throttled(const struct ada_groups *groups)
{
	uint64_t all_ns = 0;
	char text[TEXT];

	for (size_t i = 0; i < groups->count; i++) {
		const char *at;

		read_from(groups->files[i], text);
		if ((at = strstr(text, "throttled_usec ")))
			all_ns += strtoull(at + strlen("throttled_usec "), NULL, 10) * 1000;
		else if ((at = strstr(text, "throttled_time ")))
			all_ns += strtoull(at + strlen("throttled_time "), NULL, 10);
	}
	return all_ns;
}
