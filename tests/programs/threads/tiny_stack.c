/* Threads with the smallest stack that there may be: a tracer's slow path must not need much of it.
 *
 * flags: -pthread
 * expect: 20 threads, 50 deep
 */
#include <limits.h>
#include <pthread.h>
#include "check.h"

NOINLINE static int dive(int depth)
{
	int n = depth ? dive(depth - 1) : 0;

	BARRIER;
	return n + 1;
}
static void *body(void *unused)
{
	return (void *)(long)dive(49);
}

int main(void)
{
	pthread_attr_t attributes;
	void *result = NULL;

	pthread_attr_init(&attributes);
	CHECK(!pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN));
	for (int i = 0; i < 20; i++) {
		pthread_t thread;

		CHECK(!pthread_create(&thread, &attributes, body, NULL));
		pthread_join(thread, &result);
	}
	printf("20 threads, %ld deep\n", (long)result);
	return 0;
}
