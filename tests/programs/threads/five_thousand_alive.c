/* 5,000 threads that live at once, each with a few calls: all of them have room in the default buffers. So many as the first argument
 * says, if there is one.
 *
 * flags: -pthread
 * expect: 5000 threads met, 100000 calls
 * compilers: gcc
 * levels: -O0
 * pie: yes
 */
#include <pthread.h>
#include <stdlib.h>
#include "check.h"

#define THREADS_MAX 20000

static pthread_t threads[THREADS_MAX];
static pthread_barrier_t barrier;
static long calls;

NOINLINE static void work(void)
{
	BARRIER;
	__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
}

NOINLINE static void ten(void)
{
	for (int i = 0; i < 10; i++)
		work();
}

static void *body(void *unused)
{
	ten();
	pthread_barrier_wait(&barrier);
	ten();
	return unused;
}

/* All that they do lies before it, but for their last moments. */
NOINLINE static void end(void)
{
	BARRIER;
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 5000;
	pthread_attr_t attributes;

	CHECK(count > 0 && count <= THREADS_MAX);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 1 << 16);
	pthread_barrier_init(&barrier, NULL, count);
	for (int i = 0; i < count; i++)
		CHECK(!pthread_create(&threads[i], &attributes, body, NULL));
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	end();
	printf("%d threads met, %ld calls\n", count, calls);
	return 0;
}
