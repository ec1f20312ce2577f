/* Names of threads. The agent looks at a thread's first call and at its end; most give themselves a name in between. */
#include "recorder/process/names.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "recorder/index/segment.h"
#include "recorder/state/provider.h"

#define AT_ONCE 64 /* threads a look: a few microseconds each */

/* False: the thread is gone, or its process is in another pid namespace. */
static bool read_name(pid_t pid, uint32_t tid, char name[16])
{
	char path[64];
	int fd;
	ssize_t bytes;

	snprintf(path, sizeof path, "/proc/%d/task/%u/comm", pid, tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	memset(name, 0, 16);
	bytes = read(fd, name, 16); /* fifteen characters and a line's end */
	close(fd);
	if (bytes <= 0)
		return false;
	if (name[bytes - 1] == '\n')
		name[bytes - 1] = 0;
	name[15] = 0;
	return true;
}

void ada_names_look(struct ada_provider *provider)
{
	struct ada_shm_thread *threads = provider->segment.threads;
	uint32_t count = ada_segment_thread_count(&provider->segment);

	for (uint32_t i = 0; i < count && i < AT_ONCE; i++) {
		uint32_t next = provider->names_next < count ? provider->names_next : 0;
		struct ada_shm_thread *thread = &threads[next];
		char name[16];

		provider->names_next = next + 1;
		if (__atomic_load_n(&thread->status, __ATOMIC_ACQUIRE) != ADA_THREAD_LIVE ||
		    !read_name(provider->pid, thread->thread_id, name) || !strncmp(thread->name, name, sizeof name))
			continue;
		/* The first thread's tid may belong to another image of the process by now; other threads' tids are gone then. exec takes the
		 * memory away before it sets the name, so a name that was read while this image's was still mapped is its own. */
		if (thread->thread_id == (uint32_t)provider->pid && !ada_segment_in_use(&provider->segment))
			continue;
		memcpy(thread->name, name, sizeof name); /* the agent has written it before the thread was counted */
		__atomic_store_n(&provider->changed, true, __ATOMIC_RELEASE);
	}
}
