/* A call that runs, on a CPU that neighbours keep busy: 40 ms of its own, or as many as a second argument says. */
#include <sched.h>
#include "causes.h"

#define NEIGHBOURS 7
#define RUN_MS 40

static long long cpu_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1000ll + now.tv_nsec / 1000000;
}

OUT void neighbour(void)
{
	while (!over)
		;
}

static void *neighbour_thread(void *unused)
{
	neighbour();
	return unused;
}

OUT void spin(int ms)
{
	long long end = cpu_ms() + ms;

	while (cpu_ms() < end)
		for (volatile int i = 0; i < 100000; i++)
			;
}

OUT void serve(int ms)
{
	spin(ms);
}

int main(int argc, char **argv)
{
	pthread_t threads[NEIGHBOURS];
	cpu_set_t one;

	begin(argc, argv);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof one, &one); /* what begins from here on has it, too */
	for (int i = 0; i < NEIGHBOURS && caused; i++)
		pthread_create(&threads[i], NULL, neighbour_thread, NULL);
	serve(argc > 2 ? atoi(argv[2]) : RUN_MS);
	end();
	for (int i = 0; i < NEIGHBOURS && caused; i++)
		pthread_join(threads[i], NULL);
}
