/* `rested RESTS BACK`: two threads hand a byte to and fro, which makes the scheduling lane rest, until a file RESTS is there. Then the first
 * thread, one that begins in the rest, and a child from before it sleep 10 ms at a time until a file BACK is there. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "partners.h"

static int over[2];
static const char *rests, *is_back;

__attribute__((noinline)) static void nap(void)
{
	usleep(10000);
}

__attribute__((noinline)) static void nap_often(void)
{
	while (access(is_back, F_OK))
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
	pthread_t thread, late;
	pid_t child;
	int status;

	if (count < 3)
		return 1;
	rests = arguments[1];
	is_back = arguments[2];
	if (pipe(over) || (child = fork()) < 0)
		return 1;
	if (!child)
		return wait_and_nap();
	close(over[0]);
	if (pipe(there) || pipe(back) || pthread_create(&thread, NULL, answer, NULL))
		return 1;
	for (long i = 0; i % 100 || access(rests, F_OK); i++)
		ask();
	close(over[1]);
	if (pthread_create(&late, NULL, sleep_late, NULL))
		return 1;
	nap_often();
	close(there[1]);
	return pthread_join(thread, NULL) || pthread_join(late, NULL) || waitpid(child, &status, 0) != child || status;
}
