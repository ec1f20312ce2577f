/* exit() in a thread while others run hooked code: atexit handlers and destructors run in that thread.
 *
 * flags: -pthread
 * run: -> 7
 * expect: at exit
 */
#include <pthread.h>
#include <unistd.h>
#include "check.h"

static volatile int running;
NOINLINE static void turn(void)
{
	running = 1;
	BARRIER;
}
static void *spin(void *unused)
{
	for (;;)
		turn();
}
static void at_exit(void)
{
	turn();
	puts("at exit");
}

static void *leave(void *unused)
{
	while (!running)
		usleep(100);
	exit(7);
}

int main(void)
{
	pthread_t thread;

	atexit(at_exit);
	pthread_create(&thread, NULL, spin, NULL);
	pthread_create(&thread, NULL, leave, NULL);
	for (;;)
		pause();
}
