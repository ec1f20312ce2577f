/* A lock that one thread takes again and again: at each of serve's attempts it has it, but for no time that explains the whole. */
#include "causes.h"

#define ROUNDS 20

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool theirs; /* serve may try: the lock is held */

static void await_turn(bool turn)
{
	while (theirs != turn)
		usleep(100);
}

OUT void compact(int us)
{
	usleep(us);
}

OUT void rebuild(int round)
{
	pthread_mutex_lock(&lock);
	if (round)
		compact(LONG_US / ROUNDS);
	theirs = true;
	await_turn(false);
	pthread_mutex_unlock(&lock);
}

static void *background(void *unused)
{
	for (int i = 0; i < (caused ? ROUNDS : 1); i++)
		rebuild(i);
	return unused;
}

OUT void serve(void)
{
	for (int i = 0; i < (caused ? ROUNDS : 1); i++) {
		await_turn(true);
		if (!pthread_mutex_trylock(&lock))
			abort();
		theirs = false;
	}
}

int main(int argc, char **argv)
{
	pthread_t thread;

	begin(argc, argv);
	pthread_create(&thread, NULL, background, NULL);
	await_turn(true);
	serve();
	pthread_join(thread, NULL);
	end();
}
