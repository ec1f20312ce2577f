/* `pingpong ROUNDS`: two threads hand a byte to and fro, and do nothing else: a switch costs more than what lies between. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include "partners.h"

int main(int count, char **arguments)
{
	long rounds = count > 1 ? atol(arguments[1]) : 0;
	pthread_t thread;

	if (pipe(there) || pipe(back) || pthread_create(&thread, NULL, answer, NULL))
		return 1;
	for (long i = 0; i < rounds; i++)
		ask();
	close(there[1]);
	return pthread_join(thread, NULL);
}
