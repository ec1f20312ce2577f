/* A lock whose holder waits for another lock, whose holder sleeps. */
#include "holder.h"

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;

OUT void relay(void)
{
	pthread_mutex_lock(&first);
	held++;
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	pthread_mutex_unlock(&first);
}

static void *relayer(void *unused)
{
	relay();
	return unused;
}

OUT void serve(void)
{
	pthread_mutex_lock(&first);
	pthread_mutex_unlock(&first);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	begin(argc, argv);
	start_holder();
	pthread_create(&thread, NULL, relayer, NULL);
	await_held(2);
	serve();
	pthread_join(thread, NULL);
	pthread_join(holder, NULL);
	end();
}
