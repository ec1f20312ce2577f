/* The sampler's thread. It takes a two-hundredth of a CPU at most: after a look that took long it sleeps long. */
#include "recorder/sched/samples.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "base/array.h"
#include "base/clock.h"
#include "recorder/sched/count.h"

#define LEAST_NS 10000000ull
#define MOST_NS 100000000ull
#define PART 200	   /* of the time, that it may run itself */
#define MACHINE_NS MOST_NS /* how often the machine's own counts are looked at */
#define THREADS_A_LOOK 64  /* each in its turn, where there are more */
#define CPUS_MAX 1024
#define BATCH 512

struct seen {
	pid_t tid;
	uint64_t ns; /* when it was looked at last */
	struct ada_thread_counts counts;
};

struct process {
	pid_t pid;
	uint64_t cpu_ns;		    /* by its clock, when all of its threads were looked at last; else 0 */
	ADA_ARRAY(struct seen) before, now; /* its threads, by tid */
};

struct ada_samples {
	struct ada_roll *roll;
	struct ada_sched_source source;
	struct ada_groups groups;
	ADA_ARRAY(struct process) processes; /* in the order of the source */
	uint64_t now_ns, machine_ns, throttled_ns;
	uint64_t stolen_ns[CPUS_MAX];
	size_t cpus, turn; /* turn: number of the thread that is looked at first */
	size_t number;	   /* of threads that this look has met */
	size_t looked;	   /* the process that it is at */
	bool changed, stopped;
	int wake;
	pthread_t thread;
	atomic_bool stop, spares;
	atomic_bool failed; /* there was no memory for all threads */
	AtfSchedEvent batch[BATCH];
	size_t count;
};

static void write_batch(struct ada_samples *samples)
{
	ada_roll_append(samples->roll, samples->batch, samples->count);
	samples->count = 0;
}

static void samples_put(struct ada_samples *samples, uint16_t kind, uint64_t count, uint64_t since_ns, const AtfSchedEvent *whose)
{
	AtfSchedEvent event = *whose;

	if (!count)
		return;
	event.timestamp_ns = samples->now_ns;
	event.kind = kind;
	event.count = count;
	event.other_id = (uint32_t)((samples->now_ns - since_ns + 999) / 1000);
	samples->batch[samples->count++] = event;
	if (samples->count == BATCH)
		write_batch(samples);
}

/* --- threads --------------------------------------------------------------------------------------------------------------- */

static const struct seen *find_seen(const struct process *process, pid_t tid)
{
	size_t at = ada_first_not(i, 0, process->before.count, process->before.items[i].tid < tid);

	return at < process->before.count && process->before.items[at].tid == tid ? &process->before.items[at] : NULL;
}

static uint64_t grown(uint64_t from, uint64_t to)
{
	return to > from ? to - from : 0;
}

static bool look_at_thread(struct ada_samples *samples, const struct process *process, int tasks, struct seen *now, bool in_turn)
{
	const struct seen *before = find_seen(process, now->tid);
	AtfSchedEvent whose = { .thread_id = (uint32_t)now->tid, .process_id = (uint32_t)process->pid };

	if (before && !in_turn) {
		*now = *before;
	} else if (!ada_count_time(tasks, now->tid, &now->counts)) {
		return false;
	} else if (before && before->counts.ran_ns == now->counts.ran_ns && before->counts.ready_ns == now->counts.ready_ns) {
		now->counts = before->counts; /* it has not run: nothing else can have changed */
	} else if (!ada_count_faults(tasks, now->tid, &now->counts)) {
		return false;
	} else if (before) {
		whose.cpu = now->counts.cpu;
		samples_put(samples, ATF_SCHED_RAN, grown(before->counts.ran_ns, now->counts.ran_ns), before->ns, &whose);
		samples_put(samples, ATF_SCHED_READY, grown(before->counts.ready_ns, now->counts.ready_ns), before->ns, &whose);
		samples_put(samples, ATF_SCHED_MINOR, grown(before->counts.minor, now->counts.minor), before->ns, &whose);
		samples_put(samples, ATF_SCHED_MAJOR, grown(before->counts.major, now->counts.major), before->ns, &whose);
		samples->changed = true;
	}
	return true;
}

static void thread_found(void *context, int tasks, pid_t pid, pid_t tid)
{
	struct ada_samples *samples = context;
	struct process *process = &samples->processes.items[samples->looked];
	bool in_turn = samples->number >= samples->turn && samples->number < samples->turn + THREADS_A_LOOK;
	struct seen now = { .tid = tid, .ns = samples->now_ns };

	samples->number++;
	if (!in_turn) /* it may have run: the process is looked at again */
		process->cpu_ns = 0;
	if (look_at_thread(samples, process, tasks, &now, in_turn) && ada_array_push(&process->now, now))
		atomic_store(&samples->failed, true);
}

static int compare_seen(const void *one, const void *other)
{
	return ((const struct seen *)one)->tid - ((const struct seen *)other)->tid;
}

/* Where the process's clock stands none of its threads has run: what they count is what it was, as of now. */
static void look_at_process(struct ada_samples *samples, struct process *process)
{
	__typeof__(process->before) last;
	uint64_t used_ns;

	if (!ada_clock_process_ns(process->pid, &used_ns))
		used_ns = 0;
	if (used_ns && used_ns == process->cpu_ns) {
		for (size_t i = 0; i < process->before.count; i++)
			process->before.items[i].ns = samples->now_ns;
		return;
	}
	process->cpu_ns = used_ns;
	process->now.count = 0;
	ada_sched_threads_of(process->pid, thread_found, samples);
	if (process->now.count)
		qsort(process->now.items, process->now.count, sizeof *process->now.items, compare_seen);
	last = process->before;
	process->before = process->now;
	process->now = last; /* its memory serves again */
}

/* What is known of the process that the source names at that place. As a rule it was there before. False: no memory. */
static bool process_take(struct ada_samples *samples, size_t place, pid_t pid)
{
	size_t at = place;
	struct process other;

	while (at < samples->processes.count && samples->processes.items[at].pid != pid)
		at++;
	if (at == samples->processes.count && ada_array_push(&samples->processes, (struct process){ .pid = pid }))
		return false;
	other = samples->processes.items[place];
	samples->processes.items[place] = samples->processes.items[at];
	samples->processes.items[at] = other;
	return true;
}

static void processes_end(struct ada_samples *samples, size_t count)
{
	while (samples->processes.count > count) {
		struct process *gone = &samples->processes.items[--samples->processes.count];

		ada_array_free(&gone->before);
		ada_array_free(&gone->now);
	}
}

static void look_at_threads(struct ada_samples *samples)
{
	pid_t pids[ADA_SCHED_PROCESSES_MAX];
	size_t count = samples->source.processes(samples->source.context, pids, ADA_SCHED_PROCESSES_MAX);

	samples->changed = false;
	samples->number = 0;
	for (samples->looked = 0; samples->looked < count; samples->looked++) {
		if (!process_take(samples, samples->looked, pids[samples->looked])) {
			atomic_store(&samples->failed, true);
			return;
		}
		look_at_process(samples, &samples->processes.items[samples->looked]);
	}
	processes_end(samples, count);
	samples->turn = samples->turn + THREADS_A_LOOK < samples->number ? samples->turn + THREADS_A_LOOK : 0;
}

/* --- the machine ------------------------------------------------------------------------------------------------------------ */

static void look_at_machine(struct ada_samples *samples)
{
	uint64_t stolen_ns[CPUS_MAX] = { 0 }, throttled_ns;
	AtfSchedEvent whose = { .count = 0 };
	size_t cpus;

	if (samples->machine_ns && samples->now_ns - samples->machine_ns < MACHINE_NS)
		return;
	cpus = ada_count_stolen(stolen_ns, CPUS_MAX);
	throttled_ns = ada_groups_throttled(&samples->groups);
	for (size_t i = 0; i < cpus && samples->machine_ns; i++) {
		whose.cpu = (uint16_t)i;
		samples_put(samples, ATF_SCHED_STOLEN, grown(samples->stolen_ns[i], stolen_ns[i]), samples->machine_ns, &whose);
	}
	whose.cpu = 0;
	if (samples->machine_ns)
		samples_put(samples, ATF_SCHED_THROTTLED, grown(samples->throttled_ns, throttled_ns), samples->machine_ns, &whose);
	memcpy(samples->stolen_ns, stolen_ns, sizeof stolen_ns);
	samples->throttled_ns = throttled_ns;
	samples->machine_ns = samples->now_ns;
}

/* --- its thread --------------------------------------------------------------------------------------------------------------- */

static void *look_again_and_again(void *context)
{
	struct ada_samples *samples = context;
	struct pollfd wake = { .fd = samples->wake, .events = POLLIN };

	pthread_setname_np(pthread_self(), "samples");
	while (!atomic_load(&samples->stop)) {
		uint64_t before_ns = ada_clock_thread_ns(), sleep_ns;

		samples->now_ns = ada_clock_boottime_ns();
		look_at_threads(samples);
		look_at_machine(samples);
		if (samples->count)
			write_batch(samples);
		ada_roll_turn(samples->roll);
		sleep_ns = samples->changed ? (ada_clock_thread_ns() - before_ns) * PART : MOST_NS / 2;
		sleep_ns = sleep_ns < LEAST_NS ? LEAST_NS : sleep_ns > MOST_NS || atomic_load(&samples->spares) ? MOST_NS : sleep_ns;
		poll(&wake, 1, (int)(sleep_ns / 1000000));
	}
	return NULL;
}

static int start(struct ada_samples *samples, const struct ada_roll_options *files, struct ada_error *error)
{
	int status = ada_roll_open(&samples->roll, files, error);

	if (status)
		return status;
	samples->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ada_groups_open(&samples->groups, "/proc", "/sys/fs/cgroup");
	if (samples->wake >= 0 && !pthread_create(&samples->thread, NULL, look_again_and_again, samples))
		return 0;
	ada_roll_cancel(samples->roll);
	samples->roll = NULL;
	return ada_error_system(error, EAGAIN, "a thread for the samples");
}

static void samples_release(struct ada_samples *samples)
{
	if (samples->wake >= 0)
		close(samples->wake);
	ada_groups_close(&samples->groups);
	ada_roll_free(samples->roll);
	processes_end(samples, 0);
	ada_array_free(&samples->processes);
	free(samples);
}

int ada_samples_open(struct ada_samples **opened, const char *directory, struct ada_bound *bound, const struct ada_sched_source *source,
		     struct ada_error *error)
{
	const struct ada_roll_options files = {
		.directory = directory, .name = "samples", .cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN), .bound = bound, .keeps = true
	};
	struct ada_samples *samples = calloc(1, sizeof *samples);
	int status;

	if (!samples)
		return ada_error_system(error, ENOMEM, "the samples");
	samples->source = *source;
	samples->wake = -1;
	status = start(samples, &files, error);
	if (status)
		samples_release(samples);
	else
		*opened = samples;
	return status;
}

void ada_samples_spare(struct ada_samples *samples, bool spares)
{
	if (samples)
		atomic_store(&samples->spares, spares);
}

void ada_samples_stop(struct ada_samples *samples)
{
	if (!samples || samples->stopped)
		return;
	samples->stopped = true;
	atomic_store(&samples->stop, true);
	eventfd_write(samples->wake, 1);
	pthread_join(samples->thread, NULL);
	ada_roll_end(samples->roll);
}

struct ada_roll_counts ada_samples_count(const struct ada_samples *samples)
{
	struct ada_roll_counts counts = ada_roll_count(samples->roll);

	counts.failed = counts.failed ? counts.failed : atomic_load(&samples->failed) ? -ENOMEM : 0;
	return counts;
}

void ada_samples_answer(struct ada_samples *samples, const struct ada_roll_wants *wants)
{
	if (samples)
		ada_roll_answer(samples->roll, wants);
}

void ada_samples_close(struct ada_samples *samples)
{
	if (!samples)
		return;
	ada_samples_stop(samples);
	samples_release(samples);
}
