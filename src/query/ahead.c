/* See ahead.h. */
#include "query/ahead.h"
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>
#include "base/file.h"

#define HELPERS_MAX 7
#define THREADS_MIN 64		/* or a helper is not worth its start */
#define TAIL_BYTES 64

struct opened {
	struct atf_thread *thread;	/* NULL: failed, or taken */
	struct atf_message message;
};

struct ada_ahead {
	char directory[PATH_MAX];
	const uint32_t *numbers;
	struct opened *opened;
	size_t count, helper_count;
	atomic_size_t next;
	pthread_t helpers[HELPERS_MAX];
};

/* As a recorder ends its last manifest. A guess: what the manifest says is known when it is parsed. */
static bool seems_finalized(const char *directory)
{
	struct ada_error error = {};
	char path[PATH_MAX], tail[TAIL_BYTES + 1] = "";
	const char *key;
	struct stat status;
	int fd;

	if (ada_path(path, "%s/manifest.json", directory) || (fd = ada_file_open_regular(path, &error)) < 0)
		return false;
	if (fstat(fd, &status) || status.st_size < TAIL_BYTES || pread(fd, tail, TAIL_BYTES, status.st_size - TAIL_BYTES) < 0)
		*tail = 0;
	close(fd);
	key = strstr(tail, "\"finalized\"");
	return key && strstr(key, "true");
}

static void *open_some(void *context)
{
	struct ada_ahead *ahead = context;
	char path[PATH_MAX];
	size_t i;

	/* One file a thread is the rule. Where there is a second, all are looked for. */
	while ((i = atomic_fetch_add(&ahead->next, 1)) < ahead->count)
		if (!ada_path(path, "%s/thread_%u", ahead->directory, ahead->numbers[i]))
			atf_thread_open_known(&ahead->opened[i].thread, path, 1, &ahead->opened[i].message);
	return NULL;
}

struct ada_ahead *ada_ahead_start(const char *directory, const uint32_t *numbers, size_t count)
{
	struct ada_ahead *ahead;
	size_t wanted;

	if (count < THREADS_MIN || !seems_finalized(directory))
		return NULL;
	wanted = (size_t)get_nprocs() - 1;	/* this thread parses */
	if (!wanted)
		return NULL;
	wanted = wanted < HELPERS_MAX ? wanted : HELPERS_MAX;
	ahead = calloc(1, sizeof *ahead);
	if (!ahead)
		return NULL;
	ahead->opened = calloc(count, sizeof *ahead->opened);
	if (!ahead->opened || ada_path(ahead->directory, "%s", directory)) {
		ada_ahead_end(ahead);
		return NULL;
	}
	ahead->numbers = numbers;
	ahead->count = count;
	while (ahead->helper_count < wanted &&
	       !pthread_create(&ahead->helpers[ahead->helper_count], NULL, open_some, ahead))
		ahead->helper_count++;
	return ahead;
}

void ada_ahead_wait(struct ada_ahead *ahead)
{
	open_some(ahead);
	while (ahead->helper_count)
		pthread_join(ahead->helpers[--ahead->helper_count], NULL);
}

struct atf_thread *ada_ahead_take(struct ada_ahead *ahead, uint32_t number, uint32_t segments, struct atf_message *message)
{
	size_t low = 0, high = ahead->count;
	struct atf_thread *thread;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ahead->numbers[middle] < number)
			low = middle + 1;
		else
			high = middle;
	}
	thread = low < ahead->count && ahead->numbers[low] == number ? ahead->opened[low].thread : NULL;
	if (!thread || atf_thread_is_cut(thread) || atf_thread_segments(thread) != segments)
		return NULL;
	*message = ahead->opened[low].message;
	ahead->opened[low].thread = NULL;
	return thread;
}

void ada_ahead_end(struct ada_ahead *ahead)
{
	if (!ahead)
		return;
	while (ahead->helper_count)
		pthread_join(ahead->helpers[--ahead->helper_count], NULL);
	for (size_t i = 0; i < ahead->count; i++)
		atf_thread_close(ahead->opened[i].thread);
	free(ahead->opened);
	free(ahead);
}
