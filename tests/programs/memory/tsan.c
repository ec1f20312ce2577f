/* Built with ThreadSanitizer: it intercepts hundreds of functions, signals and the thread's start.
 *
 * flags: -fsanitize=thread -pthread
 * expect: counted 40000
 */
#include <pthread.h>
#include "check.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long counted;
NOINLINE static void count(void)
{
	pthread_mutex_lock(&lock);
	counted++;
	pthread_mutex_unlock(&lock);
}
static void *body(void *unused)
{
	for (int i = 0; i < 10000; i++)
		count();
	return NULL;
}

int main(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, body, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	printf("counted %ld\n", counted);
	return 0;
}
