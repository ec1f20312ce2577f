/* program THREADS PERIOD_US: its threads call at a moderate rate until the input ends; a line is said "ready" to begin with. The rate falls,
 * so that whoever reads more slowly hasn't much more to read: else a busy machine would never come to the end. */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_bool ended;
static unsigned int period_us;

__attribute__((noinline)) int leaf(int n)
{
	__asm__ volatile("" ::: "memory");
	return n + 1;
}
__attribute__((noinline)) int branch(int n)
{
	__asm__ volatile("" ::: "memory");
	return leaf(leaf(n)) - 1;
}

static void *worker(void *context)
{
	int n = 0;

	for (unsigned long round = 0; !atomic_load(&ended); round++) {
		for (int i = 0; i < 5; i++)
			n = branch(n);
		usleep((useconds_t)(period_us + period_us * round / 1000));
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int count = atoi(argv[1]);
	pthread_t threads[16];
	char line[16];

	period_us = (unsigned int)atoi(argv[2]);
	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, worker, NULL);
	puts("ready");
	fflush(stdout);
	while (read(0, line, sizeof line) > 0)
		;
	atomic_store(&ended, 1);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
