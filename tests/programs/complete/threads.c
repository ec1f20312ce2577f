/* Four threads and main count their own calls.
 *
 * flags: -pthread
 * counts: yes
 * expect: calls leaf 410000
 * expect: calls outer 41000
 * expect: calls worker 4
 * expect: calls main 1
 */
#include <pthread.h>
#include "check.h"

static long leaves, outers;
NOINLINE static void leaf(void)
{
	__atomic_fetch_add(&leaves, 1, __ATOMIC_RELAXED);
}
NOINLINE static void outer(void)
{
	__atomic_fetch_add(&outers, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 10; i++)
		leaf();
}
NOINLINE static void *worker(void *unused)
{
	for (int i = 0; i < 10000; i++)
		outer();
	return NULL;
}

int main(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, worker, NULL);
	for (int i = 0; i < 1000; i++)
		outer();
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	printf("calls leaf %ld\ncalls outer %ld\ncalls worker 4\ncalls main 1\n", leaves, outers);
	return 0;
}
