#include "recorder/sched/follow.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#define FILES_PART 16u /* of the descriptors that this process may have, one for events */
#define EVENTS_MAX 4096u

static int open_rings(struct ada_sched_follow *follow, pid_t pid)
{
	int configured = get_nprocs_conf(), opened = 0, status = 0;

	follow->kernel_faults = true;
	for (int cpu = 0; cpu < configured && opened < follow->cpus; cpu++) {
		struct ada_sched_ring *ring = &follow->rings[opened];

		status = ada_sched_ring_open(ring, pid, (uint16_t)cpu, follow->pages, follow->kernel_faults);
		if ((status == -EACCES || status == -EPERM) && follow->kernel_faults && !opened) {
			follow->kernel_faults = false;
			status = ada_sched_ring_open(ring, pid, (uint16_t)cpu, follow->pages, follow->kernel_faults);
		}
		if (status == -ENODEV) /* this CPU is offline */
			continue;
		if (status)
			break;
		opened++;
	}
	follow->cpus = opened;
	return opened && status == -ENODEV ? 0 : status;
}

static void record(struct ada_sched_follow *follow, bool on)
{
	for (int i = 0; i < follow->cpus; i++)
		if (follow->rings[i].page)
			ada_sched_ring_record(follow->rings[i].fd, on);
	for (size_t i = 0; i < follow->events.count; i++)
		ada_sched_ring_record(follow->events.items[i], on);
}

int ada_sched_follow_first(struct ada_sched_follow *follow, pid_t pid)
{
	int status = open_rings(follow, pid);

	if (!status)
		record(follow, true);
	return status;
}

void ada_sched_follow_hush(struct ada_sched_follow *follow)
{
	record(follow, false);
}

static void count_thread(void *context, int tasks, pid_t pid, pid_t tid)
{
	++*(size_t *)context;
}

static bool would_be_too_many(const struct ada_sched_follow *follow)
{
	size_t threads = 0;
	struct rlimit files;

	return !ada_sched_threads_each(&follow->source, count_thread, &threads) || threads * (size_t)follow->cpus > EVENTS_MAX ||
	       getrlimit(RLIMIT_NOFILE, &files) || threads * (size_t)follow->cpus > files.rlim_cur / FILES_PART;
}

static void close_all(struct ada_sched_follow *follow)
{
	for (size_t i = 0; i < follow->events.count; i++)
		close(follow->events.items[i]);
	follow->events.count = 0;
	for (int i = 0; i < follow->cpus; i++)
		ada_sched_ring_close(&follow->rings[i]);
}

void ada_sched_follow_rest(struct ada_sched_follow *follow)
{
	if (!would_be_too_many(follow))
		close_all(follow);
}

typedef ADA_ARRAY(pid_t) thread_list;

static void list_thread(void *context, int tasks, pid_t pid, pid_t tid)
{
	thread_list *threads = context;

	(void)ada_array_push(threads, tid); /* without memory it is missed */
}

/* The first one opens the ring. */
static int follow_on(struct ada_sched_follow *follow, struct ada_sched_ring *ring, pid_t tid)
{
	int fd;

	if (!ring->page)
		return ada_sched_ring_open(ring, tid, ring->cpu, follow->pages, follow->kernel_faults) ? -1 : ring->fd;
	if (ada_array_reserve(&follow->events, 1))
		return -1;
	fd = ada_sched_ring_join(ring, tid, follow->kernel_faults);
	if (fd >= 0)
		follow->events.items[follow->events.count++] = fd;
	return fd;
}

/* On all CPUs or on none: an event that was never told to record is silent. */
static bool follow_thread(struct ada_sched_follow *follow, pid_t tid, int fds[])
{
	for (int i = 0; i < follow->cpus; i++)
		if ((fds[i] = follow_on(follow, &follow->rings[i], tid)) < 0)
			return false;
	for (int i = 0; i < follow->cpus; i++)
		ada_sched_ring_record(fds[i], true);
	return true;
}

/* All are found before the first one is followed: whom it begins behind that would be followed twice. */
bool ada_sched_follow_again(struct ada_sched_follow *follow)
{
	thread_list threads = {};
	bool any = false;
	int *fds;

	if (follow->cpus && follow->rings[0].page) {
		record(follow, true);
		return true;
	}
	fds = calloc((size_t)follow->cpus + 1, sizeof *fds);
	if (fds)
		ada_sched_threads_each(&follow->source, list_thread, &threads);
	for (size_t i = 0; i < threads.count; i++)
		any |= follow_thread(follow, threads.items[i], fds);
	if (!any)
		close_all(follow);
	ada_array_free(&threads);
	free(fds);
	return any;
}

void ada_sched_follow_close(struct ada_sched_follow *follow)
{
	close_all(follow);
	ada_array_free(&follow->events);
}
