/* A wake-up that comes before the wait: nobody will end that. */
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
	pthread_mutex_lock(&lock);
	if (caused)
		pthread_cond_wait(&ready, &lock);
	pthread_mutex_unlock(&lock);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	begin(argc, argv);
	pthread_create(&thread, NULL, announcer, NULL);
	pthread_join(thread, NULL);
	say_ready();
	serve();
	await_input();
	end();
}
