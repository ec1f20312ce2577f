/* Two threads that take two locks in opposite order, and hang. */
#include "causes.h"

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

OUT void rebuild(void)
{
	pthread_mutex_lock(caused ? &second : &first);
	if (caused)
		pthread_barrier_wait(&both);
	pthread_mutex_lock(caused ? &first : &second);
	pthread_mutex_unlock(&first);
	pthread_mutex_unlock(&second);
}

static void *background(void *unused)
{
	rebuild();
	return unused;
}

OUT void serve(void)
{
	pthread_mutex_lock(&first);
	if (caused)
		pthread_barrier_wait(&both);
	pthread_mutex_lock(&second);
	pthread_mutex_unlock(&second);
	pthread_mutex_unlock(&first);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	begin(argc, argv);
	pthread_barrier_init(&both, NULL, 2);
	pthread_create(&thread, NULL, background, NULL);
	say_ready();
	serve();
	pthread_join(thread, NULL);
	await_input();
	end();
}
