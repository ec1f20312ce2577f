#include "recorder/host/background.h"
#include <dirent.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"

#define LATE_NS 60000000ull	     /* so late it lacks a CPU */
#define LATE_PAUSE_NS 3000000000ull  /* then it stays in front, */
#define HURRY_PAUSE_NS 1000000000ull /* and so long where it was wanted there */
#define SWEEP_NS 1000000000ull

static void go_back(pid_t thread)
{
	sched_setscheduler(thread, SCHED_IDLE, &(struct sched_param){ 0 });
}

static void come_to_front(pid_t thread)
{
	sched_setscheduler(thread, SCHED_OTHER, &(struct sched_param){ 0 });
}

/* By the names that io_uring gives to what works for the main thread, and sched.c and samples.c to their own: these may miss a moment. */
static bool goes_with_it(const char *thread)
{
	char path[64], *name;
	size_t length;
	bool goes;

	if (ada_path(path, "/proc/self/task/%.20s/comm", thread) || ada_file_read(path, &name, &length, NULL))
		return false;
	goes = !strncmp(name, "iou-wrk-", 8) || !strcmp(name, "sched\n") || !strcmp(name, "samples\n");
	free(name);
	return goes;
}

/* A thread that the main one has created in the background begins there. */
static void put_others(const struct ada_background *background, bool back)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *entry;

	while (tasks && (entry = readdir(tasks))) {
		pid_t thread = atoi(entry->d_name);
		bool goes = thread && back && goes_with_it(entry->d_name);

		if (goes)
			go_back(thread);
		else if (thread && thread != background->thread && sched_getscheduler(thread) == SCHED_IDLE)
			come_to_front(thread);
	}
	if (tasks)
		closedir(tasks);
}

/* What lets a thread lower its niceness again lets it come back from SCHED_IDLE, too. To try it out could take long: it would be there. */
void ada_background_open(struct ada_background *background, bool raised)
{
	*background = (struct ada_background){ .thread = gettid(), .may = raised && sched_getscheduler(0) == SCHED_OTHER };
}

static bool is_back(const struct ada_background *background)
{
	return __atomic_load_n(&background->back, __ATOMIC_SEQ_CST);
}

static void advance(struct ada_background *background)
{
	if (!__atomic_exchange_n(&background->back, false, __ATOMIC_SEQ_CST))
		return;
	come_to_front(background->thread);
	put_others(background, false);
}

/* Whoever hurries it meanwhile may have been too early to bring all to the front: that is noticed here. */
static void retire(struct ada_background *background, bool others)
{
	__atomic_store_n(&background->back, true, __ATOMIC_SEQ_CST);
	go_back(background->thread);
	if (others)
		put_others(background, true);
	if (__atomic_load_n(&background->hurries, __ATOMIC_SEQ_CST) != background->heeded) {
		__atomic_store_n(&background->back, true, __ATOMIC_SEQ_CST);
		advance(background);
	}
}

void ada_background_turn(struct ada_background *background, bool wanted, uint64_t now_ns, int sleep_ms)
{
	uint64_t hurries = __atomic_load_n(&background->hurries, __ATOMIC_SEQ_CST);
	uint64_t late_ns = __atomic_load_n(&background->late_ns, __ATOMIC_SEQ_CST);

	if (!background->may)
		return;
	if (hurries != background->heeded)
		background->hurried_ns = now_ns;
	background->heeded = hurries;
	if ((background->hurried_ns && now_ns < background->hurried_ns + HURRY_PAUSE_NS) || (late_ns && now_ns < late_ns + LATE_PAUSE_NS))
		wanted = false;
	__atomic_store_n(&background->due_ns, now_ns + (uint64_t)sleep_ms * 1000000, __ATOMIC_SEQ_CST);
	if (!wanted) {
		advance(background);
	} else if (!is_back(background) || now_ns > background->swept_ns + SWEEP_NS) {
		background->swept_ns = now_ns;
		retire(background, true);
	}
}

void ada_background_hurry(struct ada_background *background)
{
	__atomic_fetch_add(&background->hurries, 1, __ATOMIC_SEQ_CST);
	advance(background);
}

void ada_background_watch(struct ada_background *background, uint64_t now_ns)
{
	bool watched = now_ns <= background->watched_ns + ADA_BACKGROUND_WATCH_NS;

	background->watched_ns = now_ns;
	if (!watched || !is_back(background) || now_ns <= __atomic_load_n(&background->due_ns, __ATOMIC_SEQ_CST) + LATE_NS)
		return;
	__atomic_store_n(&background->late_ns, now_ns, __ATOMIC_SEQ_CST);
	ada_background_hurry(background);
}

void ada_background_leave(const struct ada_background *background)
{
	if (is_back(background))
		come_to_front(background->thread);
}

void ada_background_return(struct ada_background *background)
{
	if (is_back(background))
		retire(background, false);
}
