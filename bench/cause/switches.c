/* switches: what it costs a program that the kernel follows its switches (the scheduling lane). Two partners on one CPU hand a byte to and fro:
 * two processes of which one is followed, or two threads that both are. Prints ns a round for each: not followed; with events that are silent;
 * with events that record. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "recorder/sched/ring.h"

#define ROUNDS 100000
#define TIMES 5
#define PAGES 64
#define DRAIN_US 20000
#define CPUS_MAX 256

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

/* As the lane does. A process empties the ring, for a full one would be cheaper. */
static pid_t follow_on(struct ada_sched_ring *ring, pid_t pid, int cpu, enum follow follow)
{
	pid_t drain;

	if (ada_sched_ring_open(ring, pid, (uint16_t)cpu, PAGES, !geteuid()))
		return -1;
	if (follow == RECORDING)
		ada_sched_ring_record(ring->fd, true);
	drain = fork();
	for (; !drain; usleep(DRAIN_US))
		for (ada_sched_ring_look(ring); ada_sched_ring_next(ring); ada_sched_ring_pass(ring))
			;
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
	struct ada_sched_ring rings[CPUS_MAX];
	pid_t drains[CPUS_MAX], pid;
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
	for (int cpu = 0; cpu < cpus && follow != NOBODY && count < CPUS_MAX; cpu++, count++)
		drains[count] = follow_on(&rings[count], pid, cpu, follow);
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
	for (int i = 0; i < count; i++)
		ada_sched_ring_close(&rings[i]);
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
