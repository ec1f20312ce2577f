/* A read that waits for its bytes. */
#include "causes.h"

static int ends[2];

static void *feeder(void *unused)
{
	if (caused)
		usleep(LONG_US);
	if (write(ends[1], "x", 1) != 1)
		abort();
	return unused;
}

OUT void load(void)
{
	char byte;

	if (read(ends[0], &byte, 1) != 1)
		abort();
}

OUT void serve(void)
{
	load();
}

int main(int argc, char **argv)
{
	pthread_t thread;

	begin(argc, argv);
	if (pipe(ends))
		abort();
	pthread_create(&thread, NULL, feeder, NULL);
	if (!caused)
		usleep(2000);
	serve();
	pthread_join(thread, NULL);
	end();
}
