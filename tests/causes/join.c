/* A thread's end that is waited for, while others end, too. */
#include "causes.h"

#define OTHERS 3

OUT void toil(void)
{
	usleep(caused ? LONG_US : 1);
}

static void *toiler(void *unused)
{
	toil();
	return unused;
}

OUT void dawdle(long number)
{
	usleep(caused ? LONG_US / 2 + number * 10000 : 1);
}

static void *other_thread(void *number)
{
	dawdle((long)number);
	return NULL;
}

OUT void serve(pthread_t thread)
{
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	pthread_t thread, others[OTHERS];

	begin(argc, argv);
	for (long i = 0; i < OTHERS; i++)
		pthread_create(&others[i], NULL, other_thread, (void *)i);
	pthread_create(&thread, NULL, toiler, NULL);
	serve(thread);
	for (int i = 0; i < OTHERS; i++)
		pthread_join(others[i], NULL);
	end();
}
