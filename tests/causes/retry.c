/* A loop that tries again and again to take a lock. */
#include "holder.h"

OUT void serve(void)
{
	while (pthread_mutex_trylock(&lock))
		for (volatile int i = 0; i < 50000; i++)
			;
	pthread_mutex_unlock(&lock);
}

int main(int argc, char **argv)
{
	serve_beside_holder(argc, argv, serve);
}
