/* A thread that holds a lock for 300 to 700 ms again and again, one that wants it each time, one that waits for a signal and one for another's
 * end. Until the input ends. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, door = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t bell = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t turn;
static volatile int steps;

__attribute__((noinline)) static void hold(unsigned int us)
{
	usleep(us);
	steps++;
}

static void *keep(void *context)
{
	unsigned int seed = 1;

	prctl(PR_SET_NAME, "keeper");
	for (;;) {
		pthread_mutex_lock(&lock);
		pthread_barrier_wait(&turn);
		hold(300000 + (unsigned int)rand_r(&seed) % 400000);
		pthread_mutex_unlock(&lock);
		pthread_barrier_wait(&turn);
	}
	return context;
}

static void *want(void *context)
{
	prctl(PR_SET_NAME, "wanter");
	for (;;) {
		pthread_barrier_wait(&turn);
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
		pthread_barrier_wait(&turn);
	}
	return context;
}

static void *listen(void *context)
{
	prctl(PR_SET_NAME, "listener");
	pthread_mutex_lock(&door);
	for (;;)
		pthread_cond_wait(&bell, &door);
	return context;
}

static void *join(void *keeper)
{
	prctl(PR_SET_NAME, "joiner");
	pthread_join(*(pthread_t *)keeper, NULL);
	return NULL;
}

int main(void)
{
	pthread_t keeper, other;

	pthread_barrier_init(&turn, NULL, 2);
	pthread_create(&keeper, NULL, keep, NULL);
	pthread_create(&other, NULL, want, NULL);
	pthread_create(&other, NULL, listen, NULL);
	pthread_create(&other, NULL, join, &keeper);
	puts("ready");
	fflush(stdout);
	return getchar() != EOF;
}
