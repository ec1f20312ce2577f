/* A call that waits 50 ms for a mutex, with millions of other calls before and behind it, or (`inside`) while it waits. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define OWN __attribute__((noinline))

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t held;
static unsigned long calls;
static int inside;

OWN unsigned long leaf(unsigned long n)
{
	__asm__ volatile("" : "+r"(n));
	return n * 3 + 1;
}
OWN void rebuild(void)
{
	unsigned long sum = 0;

	for (unsigned long i = 0; i < calls; i++)
		sum += leaf(i);
	__asm__ volatile("" ::"r"(sum));
}
OWN void hold(void)
{
	pthread_mutex_lock(&mutex);
	pthread_barrier_wait(&held);
	if (inside)
		rebuild();
	else
		usleep(50000);
	pthread_mutex_unlock(&mutex);
}
static void *holder(void *unused)
{
	(void)unused;
	hold();
	if (!inside)
		rebuild();
	return NULL;
}
OWN void request(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	calls = strtoul(argv[1], NULL, 10) / 2;
	inside = argc > 2;
	if (!inside) {
		calls /= 2;
		rebuild();
	}
	pthread_barrier_init(&held, NULL, 2);
	pthread_create(&thread, NULL, holder, NULL);
	pthread_barrier_wait(&held);
	request();
	pthread_join(thread, NULL);
	return 0;
}
