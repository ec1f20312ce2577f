/* A spin lock whose owner has no CPU of its own: all of them, and who spins, share one. */
#include <sched.h>
#include "causes.h"

#define NEIGHBOURS 3

static pthread_spinlock_t spin;
static atomic_int held;
static atomic_bool enough;

OUT void crunch(void)
{
	while (caused && !enough)
		;
}

OUT void update(void)
{
	pthread_spin_lock(&spin);
	held++;
	crunch();
	pthread_spin_unlock(&spin);
}

static void *owner(void *unused)
{
	update();
	return unused;
}

static void *timer(void *unused)
{
	while (!held)
		usleep(100);
	usleep(LONG_US);
	enough = true;
	return unused;
}

OUT void burn(void)
{
	while (!over)
		;
}

static void *neighbour(void *unused)
{
	burn();
	return unused;
}

OUT void serve(void)
{
	pthread_spin_lock(&spin);
	pthread_spin_unlock(&spin);
}

int main(int argc, char **argv)
{
	pthread_t thread, clock, neighbours[NEIGHBOURS];
	cpu_set_t one;

	begin(argc, argv);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof one, &one);
	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	for (int i = 0; i < NEIGHBOURS && caused; i++)
		pthread_create(&neighbours[i], NULL, neighbour, NULL);
	pthread_create(&clock, NULL, timer, NULL);
	pthread_create(&thread, NULL, owner, NULL);
	while (!held)
		usleep(100);
	serve();
	over = true;
	pthread_join(thread, NULL);
	pthread_join(clock, NULL);
	for (int i = 0; i < NEIGHBOURS && caused; i++)
		pthread_join(neighbours[i], NULL);
	end();
}
