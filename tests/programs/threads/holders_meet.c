/* 300 threads that wait for each other, each with a call in progress: all chunks of a small buffer are in the hands of those that came
 * first, and nothing is ever sealed. Who would wait for one (--on-full=block) must come to the barrier all the same.
 *
 * flags: -pthread
 * trace: --index-buffer=1M --on-full=block --detail=off
 * expect: 300 threads met
 * compilers: gcc
 * levels: -O0
 * pie: yes
 */
#include <pthread.h>
#include "check.h"

static pthread_barrier_t barrier;

NOINLINE static int dive(int depth)
{
	int n = 0;

	if (depth)
		n = dive(depth - 1);
	else
		pthread_barrier_wait(&barrier);
	BARRIER;
	return n + 1;
}

static void *body(void *met)
{
	__atomic_fetch_add((int *)met, dive(100) == 101, __ATOMIC_RELAXED);
	return NULL;
}

int main(void)
{
	static pthread_t threads[300];
	pthread_attr_t attributes;
	int met = 0;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 1 << 17);
	pthread_barrier_init(&barrier, NULL, 300);
	for (int i = 0; i < 300; i++)
		CHECK(!pthread_create(&threads[i], &attributes, body, &met));
	for (int i = 0; i < 300; i++)
		pthread_join(threads[i], NULL);
	printf("%d threads met\n", met);
	return 0;
}
