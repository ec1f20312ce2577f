/* A lost wake-up: the signal comes before the wait, which goes on until its time is over. */
#include <errno.h>
#include "causes.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;

OUT void announce(void)
{
	pthread_cond_signal(&ready);
}

static void *announcer(void *unused)
{
	announce();
	return unused;
}

OUT void serve(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += LONG_US * 1000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&lock);
	if (caused)
		pthread_cond_timedwait(&ready, &lock, &until);
	pthread_mutex_unlock(&lock);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	begin(argc, argv);
	pthread_create(&thread, NULL, announcer, NULL);
	pthread_join(thread, NULL);
	serve();
	end();
}
