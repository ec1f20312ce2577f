/* A line printed to a stream that another thread keeps to itself while it sleeps; `beside`, while it keeps another stream. */
#include <stdio.h>
#include "causes.h"

static atomic_int held;
static FILE *mine, *kept;

OUT void log_line(void)
{
	fputs("a line\n", mine);
}

OUT void serve(void)
{
	log_line();
	usleep(caused && kept != mine ? LONG_US : 1);
}

OUT void compact(int us)
{
	usleep(us);
}

OUT void report(void)
{
	flockfile(kept);
	held++;
	compact(caused ? LONG_US : 1);
	funlockfile(kept);
}

static void *reporter(void *unused)
{
	report();
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	mine = kept = fopen("/dev/null", "w");
	if (argc > 2)
		kept = stderr;
	begin(argc, argv);
	pthread_create(&thread, NULL, reporter, NULL);
	while (!held)
		usleep(100);
	serve();
	pthread_join(thread, NULL);
	end();
}
