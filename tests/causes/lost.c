/* A wake-up that comes before the wait: nobody will end that. */
#include "announced.h"

OUT void serve(void)
{
	pthread_mutex_lock(&lock);
	if (caused)
		pthread_cond_wait(&ready, &lock);
	pthread_mutex_unlock(&lock);
}

int main(int argc, char **argv)
{
	begin_announced(argc, argv);
	say_ready();
	serve();
	await_input();
	end();
}
