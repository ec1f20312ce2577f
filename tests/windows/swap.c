/* Threads that call leaf() at full rate, and one() or two() now and then, until a line comes on stdin. Prints the calls of
 * each function, for the recording to agree.
 *   swap THREADS */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static atomic_int stop;
static atomic_long leafs, ones, twos;

NOINLINE static long leaf(long x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}
NOINLINE static long one(long x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 2;
}
NOINLINE static long two(long x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 3;
}

static void *work(void *argument)
{
	unsigned int seed = (unsigned int)(long)argument;
	long x = 0, l = 0, o = 0, t = 0;

	while (!stop) {
		for (int i = 0; i < 100000; i++, l++)
			x = leaf(x);
		if (rand_r(&seed) & 64) {
			x = one(x);
			o++;
		} else {
			x = two(x);
			t++;
		}
	}
	leafs += l;
	ones += o;
	twos += t;
	return (void *)x;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 8;
	pthread_t ids[64];
	char byte;

	for (long i = 0; i < threads; i++)
		pthread_create(&ids[i], NULL, work, (void *)(i + 1));
	puts("ready");
	fflush(stdout);
	if (read(0, &byte, 1) < 0)
		return 1;
	stop = 1;
	for (int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	printf("calls leaf %ld\ncalls one %ld\ncalls two %ld\n", leafs, ones, twos);
	return 0;
}
