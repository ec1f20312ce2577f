/* A pool of two slots, both taken: the one that is free first is waited for. */
#include <semaphore.h>
#include "causes.h"

#define SLOTS 2

static sem_t slots;
static atomic_int taken;

OUT void render(int us)
{
	usleep(us);
}

OUT void job(int us)
{
	sem_wait(&slots);
	taken++;
	render(us);
	sem_post(&slots);
}

static void *worker(void *number)
{
	job(caused ? LONG_US + (int)(long)number * LONG_US : 1);
	return NULL;
}

OUT void serve(void)
{
	sem_wait(&slots);
	sem_post(&slots);
}

int main(int argc, char **argv)
{
	pthread_t threads[SLOTS];

	begin(argc, argv);
	sem_init(&slots, 0, SLOTS);
	for (long i = 0; i < SLOTS; i++)
		pthread_create(&threads[i], NULL, worker, (void *)i);
	while (taken < SLOTS)
		usleep(100);
	serve();
	for (int i = 0; i < SLOTS; i++)
		pthread_join(threads[i], NULL);
	end();
}
