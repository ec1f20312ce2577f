/* A read of an eventfd that waits for another thread to write to it. */
#include <sys/eventfd.h>
#include "causes.h"

static int number;

static void *announcer(void *unused)
{
	if (caused)
		usleep(LONG_US);
	if (eventfd_write(number, 1))
		abort();
	return unused;
}

OUT void load(void)
{
	eventfd_t count;

	if (eventfd_read(number, &count))
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
	number = eventfd(0, 0);
	pthread_create(&thread, NULL, announcer, NULL);
	if (!caused)
		usleep(2000);
	serve();
	pthread_join(thread, NULL);
	end();
}
