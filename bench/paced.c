/* Calls a small function at an even rate, from some threads, for some seconds: paced CALLS_A_SECOND THREADS SECONDS
 *
 * Prints how many calls were made, the program's own CPU seconds, and by how much its last batch came too late: a machine that is too slow
 * for the rate shows there. A thread that is ahead sleeps, and leaves its CPU to the recorder. The counter paces, for calls of the clock would
 * be recorded, too.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#define BATCH 4096
#define NAP_NS 50000 /* less isn't worth a sleep */
#define THREADS_MAX 64
#define CALIBRATE_NS 50000000

static double ticks_a_second;
static uint64_t start;

struct pace {
	pthread_t thread;
	double rate; /* calls a second */
	uint64_t calls, late;
};

__attribute__((noinline)) static long step(long x)
{
	__asm__ volatile("");
	return x + 1;
}

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void calibrate(void)
{
	static const struct timespec pause = { .tv_nsec = CALIBRATE_NS };
	uint64_t from_ns = clock_ns(), from = __builtin_ia32_rdtsc(), ticks;

	nanosleep(&pause, NULL);
	ticks = __builtin_ia32_rdtsc() - from;
	ticks_a_second = (double)ticks / (double)(clock_ns() - from_ns) * 1e9;
}

static void nap(double ns)
{
	const struct timespec pause = { .tv_nsec = (long)ns };

	if (ns > NAP_NS)
		nanosleep(&pause, NULL);
}

static void *run(void *argument)
{
	struct pace *pace = argument;
	uint64_t now, due = 0;
	volatile long sum = 0;

	for (uint64_t done = 0; done < pace->calls; done += BATCH) {
		due = start + (uint64_t)((double)done / pace->rate * ticks_a_second);
		while ((now = __builtin_ia32_rdtsc()) < due)
			nap((double)(due - now) / ticks_a_second * 1e9);
		pace->late = now - due;
		for (int i = 0; i < BATCH; i++)
			sum = step(sum);
	}
	return NULL;
}

int main(int count, char **words)
{
	static struct pace paces[THREADS_MAX];
	double rate = count == 4 ? atof(words[1]) : 0, seconds = count == 4 ? atof(words[3]) : 0;
	int threads = count == 4 ? atoi(words[2]) : 0;
	uint64_t calls = 0, late = 0;
	struct rusage usage;

	if (rate <= 0 || threads < 1 || threads > THREADS_MAX || seconds <= 0) {
		fprintf(stderr, "paced CALLS_A_SECOND THREADS SECONDS\n");
		return 2;
	}
	calibrate();
	start = __builtin_ia32_rdtsc();
	for (int i = 0; i < threads; i++) {
		uint64_t share = (uint64_t)(rate * seconds / threads);

		paces[i] = (struct pace){ .rate = rate / threads, .calls = (share + BATCH - 1) / BATCH * BATCH };
		if (pthread_create(&paces[i].thread, NULL, run, &paces[i]))
			return 1;
	}
	for (int i = 0; i < threads; i++) {
		pthread_join(paces[i].thread, NULL);
		calls += paces[i].calls;
		late = paces[i].late > late ? paces[i].late : late;
	}
	getrusage(RUSAGE_SELF, &usage);
	printf("%lu calls, %.3f s of CPU, late %.3f s\n", calls,
	       (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6,
	       (double)late / ticks_a_second);
	return 0;
}
