/* See ahead.h. */
#include "query/session/ahead.h"
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include "base/array.h"
#include "base/file.h"
#include "query/session/threads.h"

#define HELPERS_MAX 7
#define THREADS_MIN 64 /* or a helper is not worth its start */
#define TAIL_BYTES 64

struct opened {
	struct atf_thread *thread; /* NULL: failed, or taken */
	struct atf_message message;
};

struct ada_ahead {
	char directory[PATH_MAX];
	const uint32_t *numbers;
	struct opened *opened;
	size_t count, helper_count;
	bool finalized;
	atomic_size_t next;
	pthread_t helpers[HELPERS_MAX];
};

/* Whether the text ends as a recorder ends its last manifest. A guess: only parsing tells what the manifest says. */
static bool seems_finalized(const char *manifest)
{
	size_t length = strlen(manifest);
	const char *key = strstr(manifest + (length > TAIL_BYTES ? length - TAIL_BYTES : 0), "\"finalized\"");

	return key && strstr(key, "true");
}

static void *open_some(void *context)
{
	struct ada_ahead *ahead = context;
	char path[PATH_MAX];
	size_t i;

	while ((i = atomic_fetch_add(&ahead->next, 1)) < ahead->count) {
		struct opened *opened = &ahead->opened[i];

		if (ada_path(path, "%s/thread_%u", ahead->directory, ahead->numbers[i]))
			continue;
		/* One file a thread is the rule. Where there is a second, all are looked for. */
		if (ahead->finalized)
			atf_thread_open_known(&opened->thread, path, 1, &opened->message);
		else
			ada_live_open(&opened->thread, path, &opened->message);
	}
	return NULL;
}

struct ada_ahead *ada_ahead_start(const char *directory, const uint32_t *numbers, size_t count, const char *manifest)
{
	struct ada_ahead *ahead;
	size_t wanted;

	if (count < THREADS_MIN || !manifest)
		return NULL;
	wanted = (size_t)get_nprocs() - 1; /* this thread parses */
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
	ahead->finalized = seems_finalized(manifest);
	while (ahead->helper_count < wanted && !pthread_create(&ahead->helpers[ahead->helper_count], NULL, open_some, ahead))
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
	size_t i = ada_first_not(n, 0, ahead->count, ahead->numbers[n] < number);
	struct atf_thread *thread;

	thread = i < ahead->count && ahead->numbers[i] == number ? ahead->opened[i].thread : NULL;
	if (!thread || ahead->finalized != (segments > 0))
		return NULL;
	if (segments && (atf_thread_is_cut(thread) || atf_thread_segments(thread) != segments))
		return NULL;
	*message = ahead->opened[i].message;
	ahead->opened[i].thread = NULL;
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
