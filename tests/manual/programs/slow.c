/* One request of ada-trace(1) waits for a lock, which is held 400 ms in the background. */
#include <pthread.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t begun;
static volatile int sink;

NOINLINE void compact(unsigned us)
{
	usleep(us);
	sink++;
}

NOINLINE void rebuild(void)
{
	pthread_mutex_lock(&lock);
	pthread_barrier_wait(&begun);
	compact(400000);
	pthread_mutex_unlock(&lock);
}

NOINLINE void *background(void *unused)
{
	rebuild();
	sink++;
	return unused;
}

NOINLINE void serve(void)
{
	pthread_mutex_lock(&lock);
	sink++;
	pthread_mutex_unlock(&lock);
}

int main(void)
{
	pthread_t thread;

	pthread_barrier_init(&begun, NULL, 2);
	pthread_create(&thread, NULL, background, NULL);
	pthread_barrier_wait(&begun);
	serve();
	pthread_join(thread, NULL);
	return 0;
}
