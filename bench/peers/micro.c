/* The small workloads of the peer table, as a program that any tracer can run: it times itself, so that no start counts.
 *
 *   micro floor|leaf|fib|callers|deep|busy|threads|cold CALLS CPU...
 *
 * prints "TIMED NS MADE": how many events were timed, what they took (of both threads: their sum), and how many there were with
 * those that came before: three fifths as many, so that buffers of 64 MiB have had a lap, but for "cold". The first thread runs on
 * the first CPU, the second on the last. All functions can be patched by all tracers: uftrace wants five bytes of instructions
 * that can be moved.
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define WORK __attribute__((noinline)) static long
#define RING_BYTES (64ull << 20)
#define FIB_N 22
#define FIB_CALLS 57313
#define DEPTH 30

void floor_index(uint64_t calls, void *ring, uint64_t ring_bytes);

static volatile long sink;

WORK leaf(long x)
{
	return (x ^ x >> 3) + 1;
}

WORK popular(long x)
{
	return (x ^ x >> 5) + 1;
}

/* What is between and behind the calls lets no compiler make a loop of one of them. */
WORK fib(long n)
{
	long one, two;

	if (n < 2)
		return n;
	one = fib(n - 1);
	__asm__ volatile("" : "+r"(one));
	two = fib(n - 2);
	__asm__ volatile("" : "+r"(two));
	return one + two;
}

WORK deep(long n)
{
	long below = n ? deep(n - 1) : 0;

	__asm__ volatile("" : "+r"(below));
	return below + 1;
}

/* 160 independent operations: the pipeline is full, so nothing of a hook hides. */
WORK busy(long x)
{
	long a = x, b = x + 1, c = x + 2, d = x + 3, e = x + 4;

	for (int i = 0; i < 32; i++)
		__asm__ volatile("add $1,%0; add $2,%1; add $3,%2; add $4,%3; xor $5,%4" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e));
	return a + b + c + d + e;
}

#define TIMES8(call) call call call call call call call call
#define TIMES64(call) TIMES8(TIMES8(call))

static long run_leaf(long calls)
{
	long x = 0;

	for (long i = 0; i < calls; i++)
		x = leaf(x);
	sink = x;
	return calls;
}

static long run_fib(long calls)
{
	long done = 0;

	for (; done < calls; done += FIB_CALLS)
		sink = fib(FIB_N);
	return done;
}

/* One function, called from 64 places. */
static long run_callers(long calls)
{
	long x = 0, done = 0;

	for (; done < calls; done += 64) {
		TIMES64(x = popular(x);)
	}
	sink = x;
	return done;
}

static long run_deep(long calls)
{
	long done = 0;

	for (; done < calls; done += DEPTH + 1)
		sink = deep(DEPTH);
	return done;
}

static long run_busy(long calls)
{
	long x = 0;

	for (long i = 0; i < calls; i++)
		x = busy(x);
	sink = x;
	return calls;
}

/* Two events a call, like all others. */
static long run_floor(long calls)
{
	static void *ring;

	if (!ring) {
		ring = mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		if (ring == MAP_FAILED)
			exit(1);
		memset(ring, 1, RING_BYTES); /* a host that keeps the page tables learns of each page at the first store */
	}
	floor_index(calls, ring, RING_BYTES);
	return calls;
}

static const struct workload {
	const char *name;
	long (*run)(long calls);
	int threads;
} workloads[] = {
	{ "floor", run_floor, 1 }, { "leaf", run_leaf, 1 }, { "fib", run_fib, 1 },	{ "callers", run_callers, 1 },
	{ "deep", run_deep, 1 },   { "busy", run_busy, 1 }, { "threads", run_leaf, 2 }, { "cold", run_leaf, 1 },
};

struct lane {
	const struct workload *workload;
	pthread_barrier_t *barrier;
	long calls, timed, made;
	int cpu;
	uint64_t ns;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static void *lane_run(void *arg)
{
	struct lane *lane = arg;
	cpu_set_t cpus;
	uint64_t start;

	CPU_ZERO(&cpus);
	CPU_SET(lane->cpu, &cpus);
	sched_setaffinity(0, sizeof cpus, &cpus);
	if (strcmp(lane->workload->name, "cold"))
		lane->made = lane->workload->run(lane->calls / 5 * 3 + 1);
	pthread_barrier_wait(lane->barrier);
	start = now_ns();
	lane->timed = lane->workload->run(lane->calls);
	lane->ns = now_ns() - start;
	lane->made += lane->timed;
	return NULL;
}

int main(int count, char **arguments)
{
	const struct workload *workload = workloads;
	struct lane lanes[2] = { { 0 } };
	pthread_barrier_t barrier;
	pthread_t other;

	while (count > 3 && workload < workloads + sizeof workloads / sizeof *workloads && strcmp(workload->name, arguments[1]))
		workload++;
	if (count < 4 || workload == workloads + sizeof workloads / sizeof *workloads)
		return 2;
	pthread_barrier_init(&barrier, NULL, workload->threads);
	for (int i = 0; i < 2; i++)
		lanes[i] = (struct lane){ workload, &barrier, atol(arguments[2]), 0, 0, atoi(arguments[i ? count - 1 : 3]), 0 };
	if (workload->threads == 2 && pthread_create(&other, NULL, lane_run, &lanes[1]))
		return 1;
	lane_run(&lanes[0]);
	if (workload->threads == 2)
		pthread_join(other, NULL);
	printf("%ld %llu %ld\n", 2 * (lanes[0].timed + lanes[1].timed), (unsigned long long)(lanes[0].ns + lanes[1].ns),
	       2 * (lanes[0].made + lanes[1].made));
	return 0;
}
