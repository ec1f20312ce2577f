#include "recorder/sched/threads.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

void ada_sched_threads_of(pid_t pid, ada_sched_thread_found *found, void *context)
{
	char path[32];
	struct dirent *entry;
	DIR *tasks;

	snprintf(path, sizeof path, "/proc/%d/task", pid);
	tasks = opendir(path);
	while (tasks && (entry = readdir(tasks)))
		if (*entry->d_name >= '0' && *entry->d_name <= '9')
			found(context, dirfd(tasks), pid, atoi(entry->d_name));
	if (tasks)
		closedir(tasks);
}

bool ada_sched_threads_each(const struct ada_sched_source *source, ada_sched_thread_found *found, void *context)
{
	pid_t pids[ADA_SCHED_PROCESSES_MAX];
	size_t count = source->processes(source->context, pids, ADA_SCHED_PROCESSES_MAX);

	for (size_t i = 0; i < count; i++)
		ada_sched_threads_of(pids[i], found, context);
	return count < ADA_SCHED_PROCESSES_MAX;
}
