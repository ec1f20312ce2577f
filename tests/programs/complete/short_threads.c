/* 200 threads that make a hundred calls each: every chunk is found, however few events are in it.
 *
 * flags: -pthread
 * counts: yes
 * expect: calls leaf 20000
 * expect: calls worker 200
 */
#include <pthread.h>
#include "check.h"

static long leaves, workers;
NOINLINE static void leaf(void)
{
	__atomic_fetch_add(&leaves, 1, __ATOMIC_RELAXED);
}
NOINLINE static void *worker(void *unused)
{
	__atomic_fetch_add(&workers, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 100; i++)
		leaf();
	return NULL;
}

int main(void)
{
	pthread_t threads[10];

	for (int batch = 0; batch < 20; batch++) {
		for (int i = 0; i < 10; i++)
			pthread_create(&threads[i], NULL, worker, NULL);
		for (int i = 0; i < 10; i++)
			pthread_join(threads[i], NULL);
	}
	printf("calls leaf %ld\ncalls worker %ld\n", leaves, workers);
	return 0;
}
