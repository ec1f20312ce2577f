/* Memory at rest: `idle THREADS` lets each thread call a function a hundred times and wait, says "ready" when all do, and ends
 * with its input. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_ready = PTHREAD_COND_INITIALIZER, ended = PTHREAD_COND_INITIALIZER;
static int threads, ready, over;

__attribute__((noinline)) static long work(long x)
{
	return (x ^ x >> 3) + 1;
}

static void *thread_run(void *arg)
{
	volatile long sink = 0;

	for (int i = 0; i < 100; i++)
		sink = work(sink);
	pthread_mutex_lock(&lock);
	if (++ready == threads)
		pthread_cond_signal(&all_ready); /* nobody else is woken: a thread that waits is idle */
	while (!over)
		pthread_cond_wait(&ended, &lock);
	pthread_mutex_unlock(&lock);
	return arg;
}

int main(int count, char **arguments)
{
	pthread_t *all;
	pthread_attr_t small;
	char end;

	threads = count > 1 ? atoi(arguments[1]) : 0;
	all = calloc(threads + 1, sizeof *all);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 256 << 10);
	for (int i = 0; i < threads; i++)
		if (!all || pthread_create(&all[i], &small, thread_run, NULL))
			return 1;
	pthread_mutex_lock(&lock);
	while (ready < threads)
		pthread_cond_wait(&all_ready, &lock);
	pthread_mutex_unlock(&lock);
	puts("ready");
	fflush(stdout);
	while (read(0, &end, 1) > 0)
		;
	pthread_mutex_lock(&lock);
	over = 1;
	pthread_cond_broadcast(&ended);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < threads; i++)
		pthread_join(all[i], NULL);
	free(all);
	return 0;
}
