/* Three threads, each of which waits for a lock that the next one has: one of them for reading. */
#include "causes.h"

static pthread_mutex_t accounts = PTHREAD_MUTEX_INITIALIZER, journal = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t index_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t all;

static void meet(void)
{
	if (caused)
		pthread_barrier_wait(&all);
}

OUT void rebuild(void)
{
	pthread_mutex_lock(&journal);
	meet();
	if (caused)
		pthread_rwlock_rdlock(&index_lock);
	pthread_mutex_unlock(&journal);
}

OUT void reindex(void)
{
	pthread_rwlock_wrlock(&index_lock);
	meet();
	if (caused)
		pthread_mutex_lock(&accounts);
	pthread_rwlock_unlock(&index_lock);
}

static void *rebuilder(void *unused)
{
	rebuild();
	return unused;
}

static void *reindexer(void *unused)
{
	reindex();
	return unused;
}

OUT void serve(void)
{
	pthread_mutex_lock(&accounts);
	meet();
	pthread_mutex_lock(&journal);
	pthread_mutex_unlock(&journal);
	pthread_mutex_unlock(&accounts);
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	begin(argc, argv);
	pthread_barrier_init(&all, NULL, 3);
	pthread_create(&threads[0], NULL, rebuilder, NULL);
	pthread_create(&threads[1], NULL, reindexer, NULL);
	say_ready();
	serve();
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	await_input();
	end();
}
