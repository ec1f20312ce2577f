/* A writer that readers starve: there is always one of them inside. */
#include "causes.h"

#define READERS 4
#define ROUNDS 8

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static atomic_int inside; /* readers that have the lock and don't leave yet */
static atomic_bool enough;

/* A reader that has slept leaves another one behind, however few processors the machine has for them. */
static bool may_leave(void)
{
	int readers = inside;

	while (readers > 1 || !caused || enough)
		if (atomic_compare_exchange_weak(&inside, &readers, readers - 1))
			return true;
	return false;
}

OUT void look_up(int us)
{
	pthread_rwlock_rdlock(&lock);
	inside++;
	do {
		usleep(us);
	} while (!may_leave());
	pthread_rwlock_unlock(&lock);
}

static void *reader(void *number)
{
	usleep((useconds_t)(long)number * 12000);
	for (int i = 0; i < ROUNDS || (caused && !enough); i++)
		look_up(caused ? LONG_US / ROUNDS : 1);
	return NULL;
}

static void *clock_thread(void *unused)
{
	usleep(LONG_US);
	enough = true;
	return unused;
}

OUT void serve(void)
{
	pthread_rwlock_wrlock(&lock);
	pthread_rwlock_unlock(&lock);
}

int main(int argc, char **argv)
{
	pthread_t threads[READERS], clock;

	begin(argc, argv);
	for (long i = 0; i < READERS; i++)
		pthread_create(&threads[i], NULL, reader, (void *)i);
	while (caused && inside < 2)
		usleep(1000);
	pthread_create(&clock, NULL, clock_thread, NULL);
	serve();
	enough = true;
	pthread_join(clock, NULL);
	for (int i = 0; i < READERS; i++)
		pthread_join(threads[i], NULL);
	end();
}
