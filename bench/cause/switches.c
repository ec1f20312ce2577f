/* switches: what it costs a program that the kernel follows its switches (the scheduling lane). Two partners on one CPU hand a byte to and fro:
 * two processes of which one is followed, or two threads that both are. Prints ns a round for each: not followed; with events that are silent;
 * with events that record. */
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 100000
#define TIMES 5
#define PAGES 64
#define DRAIN_US 20000

enum follow { NOBODY, SILENT, RECORDING };
static int there[2], back[2], begin[2];

static void *answer(void *context)
{
	char byte;

	while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1)
		;
	return context;
}

static double ask(void)
{
	struct timespec from, to;
	char byte = 0;

	clock_gettime(CLOCK_MONOTONIC, &from);
	for (int i = 0; i < ROUNDS; i++)
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			abort();
	clock_gettime(CLOCK_MONOTONIC, &to);
	return ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) / ROUNDS;
}

/* What the lane asks for (recorder/sched/ring.c). A process empties the ring, for a full one would be cheaper. */
static pid_t follow_on(pid_t pid, int cpu, enum follow follow)
{
	struct perf_event_attr attributes = { .type = PERF_TYPE_SOFTWARE,
					      .size = sizeof attributes,
					      .config = PERF_COUNT_SW_PAGE_FAULTS,
					      .sample_period = 1,
					      .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
					      .sample_id_all = 1,
					      .context_switch = 1,
					      .inherit = 1,
					      .disabled = 1,
					      .use_clockid = 1,
					      .clockid = CLOCK_BOOTTIME,
					      .exclude_hv = 1,
					      .watermark = 1,
					      .wakeup_watermark = PAGES * 4096 / 2 };
	int fd = (int)syscall(SYS_perf_event_open, &attributes, pid, cpu, -1, 0);
	struct perf_event_mmap_page *page = fd < 0 ? MAP_FAILED : mmap(NULL, (PAGES + 1) * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	pid_t drain;

	if (page == MAP_FAILED)
		return -1;
	if (follow == RECORDING)
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	drain = fork();
	for (; !drain; usleep(DRAIN_US))
		__atomic_store_n(&page->data_tail, __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
	return drain;
}

static int be_followed(bool threads, int result)
{
	pthread_t thread;
	double ns = 0;
	char byte;

	if (read(begin[0], &byte, 1) != 1)
		return 1;
	if (!threads)
		answer(NULL);
	else if (!pthread_create(&thread, NULL, answer, NULL))
		ns = ask();
	return write(result, &ns, sizeof ns) != sizeof ns;
}

static double once(bool threads, enum follow follow)
{
	int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN), result[2], count = 0;
	pid_t drains[256], pid;
	double ns = 0;

	if (pipe(there) || pipe(back) || pipe(begin) || pipe(result))
		return 0;
	pid = fork();
	if (!pid) {
		close(there[1]);
		if (threads && pipe(there))
			_exit(1);
		_exit(be_followed(threads, result[1]));
	}
	for (int cpu = 0; cpu < cpus && follow != NOBODY && count < 256; cpu++)
		drains[count++] = follow_on(pid, cpu, follow);
	if (write(begin[1], "", 1) == 1 && !threads)
		ns = ask();
	else if (read(result[0], &ns, sizeof ns) != sizeof ns)
		ns = 0;
	kill(pid, SIGKILL);
	for (int i = 0; i < count; i++)
		if (drains[i] > 0)
			kill(drains[i], SIGKILL);
	while (wait(NULL) > 0)
		;
	for (int i = 0; i < 2; i++) {
		close(there[i]);
		close(back[i]);
		close(begin[i]);
		close(result[i]);
	}
	return ns;
}

static int compare(const void *one, const void *other)
{
	return (*(const double *)one > *(const double *)other) - (*(const double *)one < *(const double *)other);
}

int main(void)
{
	static const char *const names[] = { "not followed", "silent", "recording" };
	double ns[2][3][TIMES];
	cpu_set_t first;

	CPU_ZERO(&first);
	CPU_SET(0, &first);
	sched_setaffinity(0, sizeof first, &first);
	for (int time = 0; time < TIMES; time++)
		for (int follow = NOBODY; follow <= RECORDING; follow++)
			for (int threads = 0; threads < 2; threads++)
				ns[threads][follow][time] = once(threads, follow);
	for (int threads = 0; threads < 2; threads++)
		for (int follow = NOBODY; follow <= RECORDING; follow++) {
			qsort(ns[threads][follow], TIMES, sizeof(double), compare);
			printf("two %s, %s: %.0f ns a round\n", threads ? "threads" : "processes, one of them followed", names[follow],
			       ns[threads][follow][TIMES / 2]);
		}
	return 0;
}
