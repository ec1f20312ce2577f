#include "recorder/process/space.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
#include "base/file.h"

#define SHARE 3
#define DETAIL_LEAST (2ull << 20) /* a few chunks */
#define AGENT_BYTES (20ull << 20) /* its table of threads, trampolines, plans, rooms */

uint64_t ada_space_left(pid_t pid)
{
	struct rlimit limit;
	char path[40], *text;
	size_t length;
	uint64_t used;

	if (prlimit(pid, RLIMIT_AS, NULL, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	snprintf(path, sizeof path, "/proc/%d/statm", pid);
	if (ada_file_read(path, &text, &length, NULL))
		return UINT64_MAX;
	used = strtoull(text, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
	free(text);
	return used < limit.rlim_cur ? limit.rlim_cur - used : 0;
}

int ada_space_fit(struct ada_segment_options *options, uint64_t left, struct ada_error *error)
{
	while (left != UINT64_MAX && ada_segment_bytes(options) + AGENT_BYTES > left / SHARE) {
		if (!options->no_small)
			options->no_small = true;
		else if (options->detail_buffer_bytes && options->detail_buffer_bytes >= options->index_buffer_bytes)
			options->detail_buffer_bytes = options->detail_buffer_bytes / 2 < DETAIL_LEAST ? 0 :
													 options->detail_buffer_bytes / 2;
		else if (options->index_buffer_bytes / 2 >= ADA_INDEX_BUFFER_MIN)
			options->index_buffer_bytes /= 2;
		else
			return ada_error_set(error, ENOMEM, "its limit of address space (RLIMIT_AS) leaves no room for a recording");
	}
	return 0;
}
