/* A writer that waits for a reader. */
#include "causes.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static atomic_int held;

OUT void scan(int us)
{
	pthread_rwlock_rdlock(&lock);
	held++;
	usleep(us);
	pthread_rwlock_unlock(&lock);
}

static void *reader(void *us)
{
	scan((int)(long)us);
	return NULL;
}

OUT void serve(void)
{
	pthread_rwlock_wrlock(&lock);
	pthread_rwlock_unlock(&lock);
}

int main(int argc, char **argv)
{
	pthread_t slow, quick;

	begin(argc, argv);
	pthread_create(&slow, NULL, reader, (void *)(long)(caused ? LONG_US : 1));
	pthread_create(&quick, NULL, reader, (void *)1l);
	while (held < 2)
		usleep(100);
	serve();
	pthread_join(slow, NULL);
	pthread_join(quick, NULL);
	end();
}
