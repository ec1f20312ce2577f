/* A condition that others signal while it isn't true: the first of them ends the longest wait, and none of them the loop. */
#include "causes.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool ready;

OUT void serve(void)
{
	pthread_mutex_lock(&lock);
	while (!ready)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

OUT void nudge(void)
{
	pthread_mutex_lock(&lock);
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void *nudger(void *unused)
{
	usleep(LONG_US * 5 / 8);
	for (int i = 0; i < 5; i++) {
		nudge();
		usleep(5000);
	}
	return unused;
}

OUT void announce(void)
{
	pthread_mutex_lock(&lock);
	ready = true;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
}

OUT void prepare(int us)
{
	usleep(us);
}

static void *announcer(void *unused)
{
	prepare(caused ? LONG_US : 1);
	announce();
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[3];

	begin(argc, argv);
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, i ? nudger : announcer, NULL);
	serve();
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	end();
}
