/* A thread that takes a mutex which it holds already, calls below, and hangs. */
#include "causes.h"

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;

OUT void look_up(void)
{
	if (caused)
		pthread_mutex_lock(&table);
}

OUT void serve(void)
{
	pthread_mutex_lock(&table);
	look_up();
	pthread_mutex_unlock(&table);
}

int main(int argc, char **argv)
{
	begin(argc, argv);
	say_ready();
	serve();
	await_input();
	end();
}
