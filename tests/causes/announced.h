/* A signal that comes before the wait for it: what others of these programs begin with. */
#ifndef ANNOUNCED_H
#define ANNOUNCED_H
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

static void begin_announced(int argc, char **argv)
{
	pthread_t thread;

	begin(argc, argv);
	pthread_create(&thread, NULL, announcer, NULL);
	pthread_join(thread, NULL);
}
#endif
