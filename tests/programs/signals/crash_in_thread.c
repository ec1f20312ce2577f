/* A thread crashes while three others record; nobody waits for anybody, the process dies of SIGSEGV.
 *
 * flags: -pthread
 * threads: open
 * run: -> -11
 */
#include <pthread.h>
#include <unistd.h>
#include "check.h"

NOINLINE static long leaf(long n)
{
	BARRIER;
	return n + 1;
}
static void *spin(void *unused)
{
	for (long n = 0;;)
		n = leaf(n);
}
NOINLINE static int read_at(int depth, volatile int *place)
{
	int value = depth ? read_at(depth - 1, place) : *place;

	BARRIER;
	return value;
}
static void *crash(void *unused)
{
	return (void *)(long)read_at(10, NULL);
}

int main(void)
{
	pthread_t thread;

	for (int i = 0; i < 3; i++)
		pthread_create(&thread, NULL, spin, NULL);
	pthread_create(&thread, NULL, crash, NULL);
	for (;;)
		pause();
}
