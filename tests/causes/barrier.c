/* A barrier that one of five reaches late. */
#include "causes.h"

#define PARTS 4

static pthread_barrier_t all;

OUT void sort_part(int us)
{
	usleep(us);
}

OUT void part(int us)
{
	sort_part(us);
	pthread_barrier_wait(&all);
}

static void *sorter(void *number)
{
	part(caused && (long)number == 2 ? LONG_US : 1);
	return NULL;
}

OUT void serve(void)
{
	pthread_barrier_wait(&all);
}

int main(int argc, char **argv)
{
	pthread_t threads[PARTS];

	begin(argc, argv);
	pthread_barrier_init(&all, NULL, PARTS + 1);
	for (long i = 0; i < PARTS; i++)
		pthread_create(&threads[i], NULL, sorter, (void *)i);
	serve();
	for (int i = 0; i < PARTS; i++)
		pthread_join(threads[i], NULL);
	end();
}
