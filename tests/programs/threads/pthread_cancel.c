/* Cancelled at a cancellation point eleven frames deep (deferred), and anywhere (asynchronous), with cleanup handlers.
 *
 * flags: -pthread
 * expect: deferred 11
 * expect: asynchronous 1
 */
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>
#include "check.h"

static int cleaned;
static sem_t ready;
static volatile long spinning;
static void clean(void *unused)
{
	cleaned++;
}

NOINLINE static void wait_at(int depth)
{
	pthread_cleanup_push(clean, NULL);
	if (depth) {
		wait_at(depth - 1);
	} else {
		sem_post(&ready);
		for (;;)
			pause();
	}
	pthread_cleanup_pop(0);
}
static void *wait_thread(void *unused)
{
	wait_at(10);
	return NULL;
}

NOINLINE static void turn(void)
{
	spinning++;
	BARRIER;
}
static void *spin_thread(void *unused)
{
	pthread_cleanup_push(clean, NULL);
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	sem_post(&ready);
	for (;;)
		spinning++;
	pthread_cleanup_pop(0);
}

static int cancel(void *(*body)(void *))
{
	pthread_t thread;
	void *result;

	cleaned = 0;
	pthread_create(&thread, NULL, body, NULL);
	sem_wait(&ready);
	turn();
	pthread_cancel(thread);
	pthread_join(thread, &result);
	CHECK(result == PTHREAD_CANCELED);
	return cleaned;
}

int main(void)
{
	sem_init(&ready, 0, 0);
	for (int i = 0; i < 20; i++)
		CHECK(cancel(wait_thread) == 11);
	printf("deferred %d\n", cancel(wait_thread));
	printf("asynchronous %d\n", cancel(spin_thread));
	return 0;
}
