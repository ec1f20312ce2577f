/* program THREADS CALLS: for each line of its input, so many threads that begin at once make so many calls each, then "done". */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static long calls;
static pthread_barrier_t begin;

static __attribute__((noinline, noclone)) int leaf(int n)
{
	__asm__ volatile("" ::: "memory");
	return n + 1;
}

static void *run(void *unused)
{
	pthread_barrier_wait(&begin);
	for (long i = 0; i < calls; i++)
		leaf((int)i);
	return unused;
}

int main(int argc, char **argv)
{
	unsigned int count = argc > 2 ? (unsigned int)atoi(argv[1]) : 1;
	pthread_t *threads = calloc(count, sizeof *threads);
	pthread_attr_t small;
	char line[16];

	calls = argc > 2 ? atol(argv[2]) : 1;
	pthread_barrier_init(&begin, NULL, count);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		for (unsigned int i = 0; i < count; i++)
			if (pthread_create(&threads[i], &small, run, NULL))
				return 1;
		for (unsigned int i = 0; i < count; i++)
			pthread_join(threads[i], NULL);
		puts("done");
		fflush(stdout);
	}
	return 0;
}
