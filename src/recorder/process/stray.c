#include "recorder/process/stray.h"
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"

static bool has_socket(pid_t pid, const char *socket)
{
	char path[40], *environment;
	size_t length, socket_length = strlen(socket);
	bool found = false;

	snprintf(path, sizeof path, "/proc/%d/environ", pid);
	if (ada_file_read(path, &environment, &length, NULL))
		return false;
	for (size_t i = 0; i < length && !found; i += strlen(environment + i) + 1)
		found = !strncmp(environment + i, ADA_ENV_SOCKET "=", sizeof ADA_ENV_SOCKET) &&
			!strncmp(environment + i + sizeof ADA_ENV_SOCKET, socket, socket_length) &&
			strchr("#", environment[i + sizeof ADA_ENV_SOCKET + socket_length]); /* or its end */
	free(environment);
	return found;
}

pid_t ada_stray_find(struct ada_recorder *recorder, const char *socket)
{
	DIR *processes = opendir("/proc");
	const struct dirent *entry;
	pid_t found = 0;

	if (!processes)
		return 0;
	while (!found && (entry = readdir(processes))) {
		pid_t pid = isdigit((unsigned char)*entry->d_name) ? atoi(entry->d_name) : 0;

		if (pid > 0 && pid != getpid() && has_socket(pid, socket))
			found = pid;
	}
	closedir(processes);
	return found;
}
