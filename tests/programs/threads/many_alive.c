/* 300 threads alive at once, each a hundred frames deep: more threads than a small buffer has chunks.
 *
 * flags: -pthread
 * trace: --index-buffer=4M
 * expect: 300 threads met, 30300 frames
 */
#include <pthread.h>
#include "check.h"

static pthread_barrier_t barrier;
static int frames;
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
static void *body(void *unused)
{
	__atomic_fetch_add(&frames, dive(100), __ATOMIC_RELAXED);
	return NULL;
}

int main(void)
{
	static pthread_t threads[300];
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 1 << 17);
	pthread_barrier_init(&barrier, NULL, 300);
	for (int i = 0; i < 300; i++)
		CHECK(!pthread_create(&threads[i], &attributes, body, NULL));
	for (int i = 0; i < 300; i++)
		pthread_join(threads[i], NULL);
	printf("300 threads met, %d frames\n", frames);
	return 0;
}
