/* 200 threads one after the other and 200 at once: each takes and gives back buffers.
 *
 * flags: -pthread
 * expect: 400 threads, sum 160200
 */
#include <pthread.h>
#include "check.h"

static long total;
NOINLINE static long leaf(long n)
{
	BARRIER;
	return n;
}

static void *body(void *number)
{
	long sum = 0;

	for (int i = 0; i <= 100; i++)
		sum += leaf((long)number) > 0 ? 1 : 0;
	__atomic_fetch_add(&total, sum + (long)number, __ATOMIC_RELAXED);
	return NULL;
}

int main(void)
{
	pthread_t threads[200];

	for (long i = 0; i < 200; i++) {
		pthread_create(&threads[0], NULL, body, (void *)(i + 200));
		pthread_join(threads[0], NULL);
	}
	for (long i = 0; i < 200; i++)
		pthread_create(&threads[i], NULL, body, (void *)(i + 200));
	for (int i = 0; i < 200; i++)
		pthread_join(threads[i], NULL);
	printf("400 threads, sum %ld\n", total);
	return 0;
}
