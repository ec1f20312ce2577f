/* A lost wake-up: the signal comes before the wait, which goes on until its time is over. */
#include "announced.h"

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
	begin_announced(argc, argv);
	serve();
	end();
}
