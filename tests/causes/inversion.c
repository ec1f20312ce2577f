/* Priority inversion on one CPU: a thread of low priority holds the lock, and can't give it back for one that never waits. */
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include "causes.h"

#define ROUNDS 40000000 /* some 30 ms, of a thread that has a seventieth of the CPU */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool held, beside; /* the lock is; the neighbour runs */

OUT void compact(int rounds)
{
	for (volatile int i = 0; i < rounds; i++)
		;
}

OUT void rebuild(void)
{
	pthread_mutex_lock(&lock);
	held = true;
	while (caused && !beside)
		usleep(100);
	compact(caused ? ROUNDS : 1);
	pthread_mutex_unlock(&lock);
}

static void *background(void *unused)
{
	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 19);
	rebuild();
	return unused;
}

OUT void neighbour(void)
{
	beside = true;
	while (!over)
		;
}

static void *neighbour_thread(void *unused)
{
	neighbour();
	return unused;
}

OUT void serve(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

int main(int argc, char **argv)
{
	pthread_t low, middle;
	cpu_set_t one;

	begin(argc, argv);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof one, &one); /* what begins from here on has it, too */
	pthread_create(&low, NULL, background, NULL);
	while (!held)
		usleep(100);
	if (caused)
		pthread_create(&middle, NULL, neighbour_thread, NULL);
	serve();
	end();
	pthread_join(low, NULL);
	if (caused)
		pthread_join(middle, NULL);
}
