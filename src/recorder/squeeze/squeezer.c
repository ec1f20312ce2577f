#include "recorder/squeeze/squeezer.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "atf/index/index.h"
#include "base/array.h"
#include "base/file.h"

#define NICE 19

enum stage { FREE, SENT, DONE };

struct ada_squeezer {
	ADA_ARRAY(struct ada_squeeze) listed; /* the main thread's; the first is the one that is on its way */
	pthread_t thread;		      /* when first needed */
	bool started;
	sem_t news;
	/* Atomic: no lock, which main would wait for where this thread gets no CPU */
	enum stage stage;
	bool quit;
	/* The thread's from SENT to DONE */
	char path[PATH_MAX], anew[PATH_MAX];
	bool made;
};

/* --- the thread ---------------------------------------------------------------------------------------------------------- */

static bool is_over(void *context, uint64_t events)
{
	const struct ada_squeezer *squeezer = context;

	return __atomic_load_n(&squeezer->quit, __ATOMIC_RELAXED);
}

static void squeeze(struct ada_squeezer *squeezer)
{
	struct atf_index_packer packer;
	struct atf_message message;
	struct atf_index *index;

	squeezer->made = false;
	if (atf_index_open(&index, squeezer->path, &message))
		return;
	if (atf_index_is_raw(index) && !atf_index_packer_open(&packer)) {
		squeezer->made = !atf_index_squeeze(&packer, index, squeezer->anew, is_over, squeezer, &message);
		if (!squeezer->made)
			unlink(squeezer->anew);
		atf_index_packer_close(&packer);
	}
	atf_index_close(index);
}

static void *squeezer_run(void *argument)
{
	struct ada_squeezer *squeezer = argument;

	pthread_setname_np(pthread_self(), "ada-squeeze");
	setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
	while (!__atomic_load_n(&squeezer->quit, __ATOMIC_ACQUIRE)) {
		if (__atomic_load_n(&squeezer->stage, __ATOMIC_ACQUIRE) == SENT) {
			squeeze(squeezer);
			__atomic_store_n(&squeezer->stage, DONE, __ATOMIC_RELEASE);
		}
		while (sem_wait(&squeezer->news) && errno == EINTR)
			;
	}
	return NULL;
}

/* --- the main thread ----------------------------------------------------------------------------------------------------- */

int ada_squeezer_open(struct ada_squeezer **result)
{
	struct ada_squeezer *squeezer = calloc(1, sizeof *squeezer);

	*result = squeezer;
	if (!squeezer)
		return -ENOMEM;
	sem_init(&squeezer->news, 0, 0);
	return 0;
}

static enum stage stage_of(const struct ada_squeezer *squeezer)
{
	return __atomic_load_n(&squeezer->stage, __ATOMIC_ACQUIRE);
}

void ada_squeezer_close(struct ada_squeezer *squeezer)
{
	if (!squeezer)
		return;
	__atomic_store_n(&squeezer->quit, true, __ATOMIC_RELEASE);
	sem_post(&squeezer->news);
	if (squeezer->started)
		pthread_join(squeezer->thread, NULL);
	if (stage_of(squeezer) == DONE)
		ada_squeezer_take(squeezer, false);
	sem_destroy(&squeezer->news);
	ada_array_free(&squeezer->listed);
	free(squeezer);
}

/* Without memory it stays raw. */
void ada_squeezer_closed(struct ada_squeezer *squeezer, const struct ada_squeeze *segment)
{
	if (squeezer)
		ada_array_push(&squeezer->listed, *segment);
}

bool ada_squeezer_next(const struct ada_squeezer *squeezer, struct ada_squeeze *segment)
{
	if (!squeezer || !squeezer->listed.count || stage_of(squeezer) != FREE)
		return false;
	*segment = squeezer->listed.items[0];
	return true;
}

size_t ada_squeezer_left(const struct ada_squeezer *squeezer)
{
	return squeezer ? squeezer->listed.count : 0;
}

static void forget_first(struct ada_squeezer *squeezer)
{
	for (size_t i = 1; i < squeezer->listed.count; i++)
		squeezer->listed.items[i - 1] = squeezer->listed.items[i];
	squeezer->listed.count--;
}

void ada_squeezer_send(struct ada_squeezer *squeezer, const char *path)
{
	if (path && !squeezer->started)
		squeezer->started = !pthread_create(&squeezer->thread, NULL, squeezer_run, squeezer);
	if (!path || !squeezer->started || ada_path(squeezer->path, "%s", path) || ada_path(squeezer->anew, "%s.tmp", path)) {
		forget_first(squeezer);
		return;
	}
	__atomic_store_n(&squeezer->stage, SENT, __ATOMIC_RELEASE);
	sem_post(&squeezer->news);
}

bool ada_squeezer_done(const struct ada_squeezer *squeezer, struct ada_squeeze *segment)
{
	if (!squeezer || stage_of(squeezer) != DONE)
		return false;
	*segment = squeezer->listed.items[0];
	return true;
}

/* The file may have got a detail file since it was read: then the new one says so, too. */
static int name_detail(const struct ada_squeezer *squeezer)
{
	AtfIndexHeader header;
	int old = open(squeezer->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), made = open(squeezer->anew, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	int status = old < 0 || made < 0 || pread(old, &header, sizeof header, 0) != sizeof header ? -EIO : 0;

	if (!status && header.flags & ATF_FLAG_HAS_DETAIL)
		status = atf_pack_name_detail(made);
	if (old >= 0)
		close(old);
	if (made >= 0)
		close(made);
	return status;
}

void ada_squeezer_take(struct ada_squeezer *squeezer, bool wanted)
{
	if (squeezer->made && (!wanted || name_detail(squeezer) || rename(squeezer->anew, squeezer->path)))
		unlink(squeezer->anew);
	forget_first(squeezer);
	__atomic_store_n(&squeezer->stage, FREE, __ATOMIC_RELEASE);
}
