/* Work that is handed to another thread, and waited for, by semaphores. */
#include <semaphore.h>
#include "causes.h"

static sem_t asked, done;

OUT void compress(int us)
{
	usleep(us);
}

OUT void work(void)
{
	sem_wait(&asked);
	compress(caused ? LONG_US : 1);
	sem_post(&done);
}

static void *worker(void *unused)
{
	work();
	return unused;
}

OUT void serve(void)
{
	sem_post(&asked);
	sem_wait(&done);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	begin(argc, argv);
	sem_init(&asked, 0, 0);
	sem_init(&done, 0, 0);
	pthread_create(&thread, NULL, worker, NULL);
	serve();
	pthread_join(thread, NULL);
	end();
}
