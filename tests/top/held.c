/* A thread holds a lock until a line comes on standard input; the main thread waits for it. Each says what it is about to do. */
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t held;

__attribute__((noinline)) static void *keep_lock(void *unused)
{
	char line[16];

	prctl(PR_SET_NAME, "keeper");
	pthread_mutex_lock(&lock);
	pthread_barrier_wait(&held);
	fgets(line, sizeof line, stdin);
	pthread_mutex_unlock(&lock);
	return unused;
}

__attribute__((noinline)) static void want_lock(void)
{
	puts("waits");
	fflush(stdout);
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

int main(void)
{
	pthread_t keeper;

	pthread_barrier_init(&held, NULL, 2);
	pthread_create(&keeper, NULL, keep_lock, NULL);
	pthread_barrier_wait(&held);
	want_lock();
	return pthread_join(keeper, NULL);
}
