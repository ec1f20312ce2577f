/* A writer that readers starve: there is always one of them inside. */
#include "causes.h"

#define READERS 4
#define ROUNDS 8

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static atomic_bool enough;

OUT void look_up(int us)
{
	pthread_rwlock_rdlock(&lock);
	usleep(us);
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
	pthread_create(&clock, NULL, clock_thread, NULL);
	usleep(60000);
	serve();
	enough = true;
	pthread_join(clock, NULL);
	for (int i = 0; i < READERS; i++)
		pthread_join(threads[i], NULL);
	end();
}
