/* `rested ROUNDS NAPS`: two threads hand a byte to and fro ROUNDS times, which makes the scheduling lane rest. Then the first thread, one that
 * begins in the rest, and a child from before it sleep NAPS times 10 ms each. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "partners.h"

static int over[2];
static long naps;

__attribute__((noinline)) static void nap(void)
{
	usleep(10000);
}

__attribute__((noinline)) static void nap_often(void)
{
	for (long i = 0; i < naps; i++)
		nap();
}

static void *sleep_late(void *context)
{
	nap_often();
	return context;
}

static int wait_and_nap(void)
{
	char byte;

	close(over[1]);
	if (read(over[0], &byte, 1))
		abort();
	nap_often();
	return 0;
}

int main(int count, char **arguments)
{
	long rounds = count > 2 ? atol(arguments[1]) : 0;
	pthread_t thread, late;
	pid_t child;
	int status;

	naps = count > 2 ? atol(arguments[2]) : 0;
	if (pipe(over) || (child = fork()) < 0)
		return 1;
	if (!child)
		return wait_and_nap();
	close(over[0]);
	if (pipe(there) || pipe(back) || pthread_create(&thread, NULL, answer, NULL))
		return 1;
	for (long i = 0; i < rounds; i++)
		ask();
	close(over[1]);
	if (pthread_create(&late, NULL, sleep_late, NULL))
		return 1;
	nap_often();
	close(there[1]);
	return pthread_join(thread, NULL) || pthread_join(late, NULL) || waitpid(child, &status, 0) != child || status;
}
