/* Two calls that take long at the same time, each for another's reason: one lock is held by who compacts, another by who prunes. */
#include "causes.h"

static pthread_mutex_t entries = PTHREAD_MUTEX_INITIALIZER, index_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t taken;

OUT void compact(int us)
{
	usleep(us);
}

OUT void prune(int us)
{
	usleep(us);
}

static void *hold(void *context)
{
	pthread_mutex_t *lock = context;

	pthread_mutex_lock(lock);
	pthread_barrier_wait(&taken);
	if (lock == &entries)
		compact(LONG_US);
	else
		prune(LONG_US);
	pthread_mutex_unlock(lock);
	return NULL;
}

OUT void note_request(void)
{
	usleep(1);
}

OUT void serve(pthread_mutex_t *lock)
{
	note_request();
	pthread_mutex_lock(lock);
	pthread_mutex_unlock(lock);
}

static void *serve_index(void *unused)
{
	serve(&index_lock);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t holders[2], other;

	begin(argc, argv);
	pthread_barrier_init(&taken, NULL, 3);
	pthread_create(&holders[0], NULL, hold, &entries);
	pthread_create(&holders[1], NULL, hold, &index_lock);
	pthread_barrier_wait(&taken);
	pthread_create(&other, NULL, serve_index, NULL);
	serve(&entries);
	pthread_join(other, NULL);
	pthread_join(holders[0], NULL);
	pthread_join(holders[1], NULL);
	end();
}
