#include "recorder/host/process.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *ada_process_stat(pid_t pid, char *line, size_t bytes)
{
	char path[40];
	FILE *file;
	const char *name_end;

	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return NULL;
	line[fread(line, 1, bytes - 1, file)] = 0;
	fclose(file);
	name_end = strrchr(line, ')'); /* the name before it may hold anything */
	return name_end && name_end[1] == ' ' ? name_end + 2 : NULL;
}

pid_t ada_process_parent(pid_t pid)
{
	char line[1024];
	const char *stat = ada_process_stat(pid, line, sizeof line);
	pid_t parent;

	return stat && sscanf(stat, "%*c %d", &parent) == 1 ? parent : 0;
}

bool ada_process_start_ns(pid_t pid, uint64_t *ns)
{
	enum { BETWEEN = 18 }; /* fields from behind the state to the one before the start */
	char line[1024];
	const char *at = ada_process_stat(pid, line, sizeof line);
	long ticks = sysconf(_SC_CLK_TCK);

	for (int i = 0; at && i <= BETWEEN; i++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	if (!at || ticks <= 0)
		return false;
	*ns = strtoull(at, NULL, 10) * (1000000000ull / (uint64_t)ticks);
	return true;
}

bool ada_process_is_ending(pid_t pid)
{
	char path[40], exe;

	snprintf(path, sizeof path, "/proc/%d/exe", pid);
	return readlink(path, &exe, 1) < 0 && errno == ENOENT;
}
