/* A call that gives up waiting for a lock: whoever holds it does so before and behind. */
#include "holder.h"

OUT void serve(void)
{
	struct timespec limit;

	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_nsec += (LONG_US - 100000) * 1000l;
	limit.tv_sec += limit.tv_nsec / 1000000000;
	limit.tv_nsec %= 1000000000;
	if (!pthread_mutex_timedlock(&lock, &limit))
		pthread_mutex_unlock(&lock);
}

int main(int argc, char **argv)
{
	serve_beside_holder(argc, argv, serve);
}
