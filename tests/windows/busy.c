/* Threads that call leaf() as fast as they can, and mark_me() now and then, at random: windows at full rate.
 *   busy THREADS MARKS SECONDS SEED
 * Ends when MARKS marks were made, or SECONDS have passed and the marks too. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))

static atomic_long marks_left;
static atomic_int stop;
static double seconds;

NOINLINE static long leaf(long x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}
NOINLINE static long mark_me(long x)
{
	__asm__ volatile("" : "+r"(x));
	return x ^ 1;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec * 1e-9;
}

static void *work(void *argument)
{
	unsigned int seed = (unsigned int)(long)argument;
	double end = now() + seconds;
	long x = 0;

	while (!stop) {
		for (int i = rand_r(&seed) % 10000; i >= 0; i--)
			x = leaf(x);
		if (marks_left > 0 && marks_left-- > 0)
			x = mark_me(x);
		else if (now() >= end)
			stop = 1;
	}
	return (void *)x;
}

int main(int argc, char **argv)
{
	long threads = argc > 1 ? atol(argv[1]) : 2;
	pthread_t ids[64];

	marks_left = argc > 2 ? atol(argv[2]) : 10;
	seconds = argc > 3 ? atof(argv[3]) : 0;
	for (long i = 0; i < threads; i++)
		pthread_create(&ids[i], NULL, work, (void *)(i + (argc > 4 ? atol(argv[4]) : 1) * 100));
	for (long i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	puts("done");
	return 0;
}
