/* Thread-specific destructors run hooked functions after the thread's own function, in several rounds.
 *
 * flags: -pthread
 * expect: destructors 12, rounds 3
 */
#include <pthread.h>
#include "check.h"

static pthread_key_t keys[4];
static int destructors, rounds;

NOINLINE static void work(int depth)
{
	if (depth)
		work(depth - 1);
	BARRIER;
}

static void destroy(void *value)
{
	long left = (long)value;

	work(10);
	destructors++;
	if (left > rounds)
		rounds = left;
	if (left > 1)
		for (int i = 0; i < 4; i++)
			if (!pthread_getspecific(keys[i]))
				return (void)pthread_setspecific(keys[i], (void *)(left - 1));
}

static void *body(void *unused)
{
	for (int i = 0; i < 4; i++)
		pthread_setspecific(keys[i], (void *)3L);
	work(5);
	return NULL;
}

int main(void)
{
	pthread_t thread;

	for (int i = 0; i < 4; i++)
		pthread_key_create(&keys[i], destroy);
	pthread_create(&thread, NULL, body, NULL);
	pthread_join(thread, NULL);
	printf("destructors %d, rounds %d\n", destructors, rounds);
	return 0;
}
