/* A stream that another thread keeps to itself while it sleeps. */
#include <stdio.h>
#include "causes.h"

static atomic_int held;

OUT void serve(void)
{
	flockfile(stderr);
	funlockfile(stderr);
}

OUT void compact(int us)
{
	usleep(us);
}

OUT void report(void)
{
	flockfile(stderr);
	held++;
	compact(caused ? LONG_US : 1);
	funlockfile(stderr);
}

static void *reporter(void *unused)
{
	report();
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	begin(argc, argv);
	pthread_create(&thread, NULL, reporter, NULL);
	while (!held)
		usleep(100);
	serve();
	pthread_join(thread, NULL);
	end();
}
