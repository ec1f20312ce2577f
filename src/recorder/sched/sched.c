/* The lane's thread: merges the rings by time into the file. What is younger than a millisecond waits for the next turn, for another CPU
 * may still be writing what came before it. Under a budget the lane rests where it costs too much (rest.h). */
#include "recorder/sched/sched.h"
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/sysinfo.h>
#include <unistd.h>
#include "base/clock.h"
#include "recorder/sched/follow.h"
#include "recorder/sched/rest.h"
#include "recorder/sched/ring.h"

#define TURN_MS 50
#define SETTLE_NS 1000000ull /* time of a record, to its being in the ring, at most */
#define NEXT_NS 50000ull     /* who comes on within that after another left the CPU took its place */
#define FAULTS_NS 1000000ull /* faults so close together are one event */
#define PAGES 64	     /* of a ring: 8192 records */
#define PAGES_MANY_CPUS 16
#define MANY_CPUS 16
#define BATCH 1024

struct faults {		     /* of one thread on one CPU, that are still being counted */
	AtfSchedEvent event; /* count 0: none */
	uint64_t first_ns;
};

struct ada_sched {
	struct ada_roll *roll;
	struct ada_sched_ring *rings;
	struct pollfd *polls;  /* of the rings, then `wake` */
	struct faults *faults; /* by ring */
	struct ada_sched_rest rest;
	struct ada_sched_follow follow;
	int cpus, wake;
	pthread_t thread;
	bool stopped;
	atomic_bool stop;
	atomic_uint_fast64_t lost, paused_ns, share_ppm;
	AtfSchedEvent batch[BATCH];
	size_t count; /* in the batch */
};

static void write_batch(struct ada_sched *sched)
{
	ada_roll_append(sched->roll, sched->batch, sched->count);
	sched->count = 0;
}

static void put(struct ada_sched *sched, const AtfSchedEvent *event)
{
	sched->batch[sched->count++] = *event;
	if (sched->count == BATCH)
		write_batch(sched);
}

static void put_faults(struct ada_sched *sched, struct faults *faults)
{
	if (faults->event.count)
		put(sched, &faults->event);
	faults->event.count = 0;
}

/* The ring whose next event is the oldest, no younger than `until_ns`; NULL: none. */
static struct ada_sched_ring *find_oldest(struct ada_sched *sched, uint64_t until_ns)
{
	struct ada_sched_ring *oldest = NULL;

	for (int i = 0; i < sched->cpus; i++) {
		const AtfSchedEvent *next = ada_sched_ring_next(&sched->rings[i]);

		if (next && next->timestamp_ns <= until_ns && (!oldest || next->timestamp_ns < oldest->next.timestamp_ns))
			oldest = &sched->rings[i];
	}
	return oldest;
}

/* A fault joins those before it while they are the same thread's, with nothing between. */
static void take_fault(struct ada_sched *sched, struct faults *faults, const AtfSchedEvent *event)
{
	uint64_t before;

	if (faults->event.thread_id != event->thread_id || event->timestamp_ns - faults->first_ns > FAULTS_NS)
		put_faults(sched, faults);
	before = faults->event.count;
	if (!before)
		faults->first_ns = event->timestamp_ns;
	faults->event = *event;
	faults->event.count += before;
}

static void turn(struct ada_sched *sched, uint64_t until_ns)
{
	struct ada_sched_ring *ring;

	for (int i = 0; i < sched->cpus; i++)
		ada_sched_ring_look(&sched->rings[i]);
	while ((ring = find_oldest(sched, until_ns))) {
		struct faults *faults = &sched->faults[ring - sched->rings];
		AtfSchedEvent event = ring->next;
		const AtfSchedEvent *behind;

		ada_sched_ring_pass(ring);
		ada_sched_rest_note(&sched->rest, (size_t)(ring - sched->rings), &event);
		if (event.kind == ATF_SCHED_FAULT) {
			take_fault(sched, faults, &event);
			continue;
		}
		put_faults(sched, faults);
		behind = ada_sched_ring_next(ring);
		if (event.kind == ATF_SCHED_PREEMPTED && behind && behind->kind == ATF_SCHED_ON && behind->thread_id != event.thread_id &&
		    behind->timestamp_ns - event.timestamp_ns <= NEXT_NS)
			event.other_id = behind->thread_id;
		if (event.kind == ATF_SCHED_LOST)
			atomic_fetch_add(&sched->lost, event.count);
		put(sched, &event);
	}
	for (int i = 0; i < sched->cpus; i++)
		put_faults(sched, &sched->faults[i]);
	if (sched->count)
		write_batch(sched);
}

static void poll_rings(struct ada_sched *sched)
{
	for (int i = 0; i < sched->cpus; i++)
		sched->polls[i] = (struct pollfd){ .fd = sched->rings[i].fd, .events = POLLIN };
}

/* What the kernel still had is written first: behind a PAUSED event nobody knows what a thread does, up to its next one. The rest begins
 * before the first CPU is told, for this thread may lose its own CPU between two of them: what a CPU that was told later still says of that
 * time is left out, since a thread may have gone on to one that was silent. */
static void begin_rest(struct ada_sched *sched)
{
	uint64_t now_ns = ada_clock_boottime_ns();

	ada_sched_follow_hush(&sched->follow);
	turn(sched, now_ns);
	for (int i = 0; i < sched->cpus; i++) {
		while (ada_sched_ring_next(&sched->rings[i]))
			ada_sched_ring_pass(&sched->rings[i]);
		put(sched, &(AtfSchedEvent){ .timestamp_ns = now_ns, .count = 1, .kind = ATF_SCHED_PAUSED, .cpu = sched->rings[i].cpu });
	}
	write_batch(sched);
	sched->rest.since_ns = now_ns;
	ada_sched_follow_rest(&sched->follow);
	poll_rings(sched);
}

static void end_rest(struct ada_sched *sched, uint64_t since_ns, uint64_t now_ns)
{
	if (ada_sched_follow_again(&sched->follow))
		atomic_fetch_add(&sched->paused_ns, now_ns - since_ns);
	else
		ada_sched_rest_again(&sched->rest, since_ns, now_ns);
	poll_rings(sched);
}

static void rest_where_dear(struct ada_sched *sched, uint64_t now_ns)
{
	uint64_t since_ns = sched->rest.since_ns;

	if (ada_sched_rest_look(&sched->rest, now_ns)) {
		if (sched->rest.rests)
			begin_rest(sched);
		else
			end_rest(sched, since_ns, now_ns);
	}
	atomic_store(&sched->share_ppm, (uint64_t)(sched->rest.share * 1e6));
}

static void *drain_rings(void *context)
{
	struct ada_sched *sched = context;

	pthread_setname_np(pthread_self(), "sched");
	while (!atomic_load(&sched->stop)) {
		poll(sched->polls, (nfds_t)sched->cpus + 1, TURN_MS);
		/* The kernel calls it a hang-up when the program's first thread has ended: others may go on, and are looked at in time. */
		for (int i = 0; i < sched->cpus; i++)
			if (sched->polls[i].revents & (POLLHUP | POLLERR))
				sched->polls[i].fd = -1;
		turn(sched, ada_clock_boottime_ns() - SETTLE_NS);
		rest_where_dear(sched, ada_clock_boottime_ns());
		ada_roll_turn(sched->roll);
	}
	turn(sched, UINT64_MAX);
	if (sched->rest.rests)
		atomic_fetch_add(&sched->paused_ns, ada_clock_boottime_ns() - sched->rest.since_ns);
	return NULL;
}

/* --- beginning and end ------------------------------------------------------------------------------------------------------ */

static int explain_refusal(struct ada_error *error, int status)
{
	FILE *file = status == -EACCES || status == -EPERM ? fopen("/proc/sys/kernel/perf_event_paranoid", "re") : NULL;
	int paranoid = 0;

	if (!file)
		return ada_error_system(error, -status, "perf_event_open");
	if (fscanf(file, "%d", &paranoid) != 1)
		paranoid = 0;
	fclose(file);
	if (paranoid > 2)
		return ada_error_set(error, -status,
				     "perf_event_open is forbidden: `sysctl kernel.perf_event_paranoid=2` allows it (it is %d)", paranoid);
	return ada_error_set(error, -status, "perf_event_open is forbidden, as by a container's seccomp filter");
}

static void release(struct ada_sched *sched)
{
	ada_sched_follow_close(&sched->follow);
	if (sched->wake >= 0)
		close(sched->wake);
	ada_roll_free(sched->roll);
	free(sched->rings);
	free(sched->polls);
	free(sched->faults);
	free(sched->rest.on_ns);
	free(sched);
}

static int start(struct ada_sched *sched, const struct ada_roll_options *files, struct ada_error *error)
{
	int status = ada_roll_open(&sched->roll, files, error);

	if (status)
		return status;
	sched->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	sched->polls[sched->cpus] = (struct pollfd){ .fd = sched->wake, .events = POLLIN };
	if (sched->wake >= 0 && !pthread_create(&sched->thread, NULL, drain_rings, sched))
		return 0;
	ada_roll_cancel(sched->roll);
	sched->roll = NULL;
	return ada_error_system(error, EAGAIN, "a thread for the scheduling lane");
}

int ada_sched_open(struct ada_sched **opened, pid_t pid, const struct ada_sched_options *options, struct ada_error *error)
{
	struct ada_sched *sched = calloc(1, sizeof *sched);
	int cpus = get_nprocs(), status = sched ? 0 : -ENOMEM;
	struct ada_roll_options files = { .directory = options->directory, .name = "sched", .bound = options->bound, .keeps = true };

	if (sched) {
		sched->wake = -1;
		sched->rings = calloc((size_t)cpus, sizeof *sched->rings);
		sched->polls = calloc((size_t)cpus + 1, sizeof *sched->polls);
		sched->faults = calloc((size_t)cpus, sizeof *sched->faults);
		sched->rest = (struct ada_sched_rest){ .budget = options->budget, .on_ns = calloc((size_t)cpus, sizeof(uint64_t)) };
		status = sched->rings && sched->polls && sched->faults && sched->rest.on_ns ? 0 : -ENOMEM;
	}
	if (status)
		ada_error_system(error, -status, "the scheduling lane");
	if (!status) {
		sched->follow = (struct ada_sched_follow){
			.rings = sched->rings, .cpus = cpus, .pages = cpus > MANY_CPUS ? PAGES_MANY_CPUS : PAGES, .source = options->source
		};
		status = ada_sched_follow_first(&sched->follow, pid);
		if (status)
			explain_refusal(error, status);
	}
	if (!status) {
		sched->cpus = sched->follow.cpus;
		sched->rest.cpus = (size_t)sched->cpus;
		files.flags = sched->follow.kernel_faults ? ATF_SCHED_KERNEL_FAULTS : 0;
		poll_rings(sched);
		files.cpus = (uint32_t)sched->cpus;
		status = start(sched, &files, error);
	}
	if (status && sched)
		release(sched);
	else
		*opened = sched;
	return status;
}

void ada_sched_stop(struct ada_sched *sched)
{
	if (!sched || sched->stopped)
		return;
	sched->stopped = true;
	atomic_store(&sched->stop, true);
	eventfd_write(sched->wake, 1);
	pthread_join(sched->thread, NULL);
	ada_roll_end(sched->roll);
}

struct ada_sched_counts ada_sched_count(const struct ada_sched *sched)
{
	return (struct ada_sched_counts){ .files = ada_roll_count(sched->roll),
					  .lost = atomic_load(&sched->lost),
					  .paused_ns = atomic_load(&sched->paused_ns) };
}

double ada_sched_share(const struct ada_sched *sched)
{
	return sched ? (double)atomic_load(&sched->share_ppm) / 1e6 : 0;
}

void ada_sched_answer(struct ada_sched *sched, const struct ada_roll_wants *wants)
{
	if (sched)
		ada_roll_answer(sched->roll, wants);
}

void ada_sched_close(struct ada_sched *sched)
{
	if (!sched)
		return;
	ada_sched_stop(sched);
	release(sched);
}
