/* A thread that holds a lock waits for the end of another one, which waits for that lock. */
#include "causes.h"

static pthread_mutex_t accounts = PTHREAD_MUTEX_INITIALIZER;

OUT void rebuild(void)
{
	pthread_mutex_lock(&accounts);
	pthread_mutex_unlock(&accounts);
}

static void *rebuilder(void *unused)
{
	rebuild();
	return unused;
}

OUT void serve(void)
{
	pthread_t thread;

	pthread_mutex_lock(&accounts);
	pthread_create(&thread, NULL, rebuilder, NULL);
	if (!caused)
		pthread_mutex_unlock(&accounts);
	pthread_join(thread, NULL);
	if (caused)
		pthread_mutex_unlock(&accounts);
}

int main(int argc, char **argv)
{
	begin(argc, argv);
	say_ready();
	serve();
	await_input();
	end();
}
