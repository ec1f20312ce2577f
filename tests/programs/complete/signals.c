/* Calls counted in the program and in its handler, while a timer interrupts it every 200 us, hooks included.
 *
 * counts: yes
 * expect: calls leaf 1000000
 * expect: calls handler 100
 * expect: calls in_handler 300
 */
#include <signal.h>
#include <sys/time.h>
#include "check.h"

static volatile long leaves, handlers, inners;
NOINLINE static void leaf(void)
{
	leaves++;
}
NOINLINE static void in_handler(void)
{
	inners++;
}
static void arm(void)
{
	struct itimerval once = { { 0 }, { 0, 200 } };

	setitimer(ITIMER_REAL, &once, NULL);
}
NOINLINE static void handler(int number)
{
	for (int i = 0; i < 3; i++)
		in_handler();
	if (++handlers < 100)
		arm();
}

int main(void)
{
	signal(SIGALRM, handler);
	arm();
	for (int i = 0; i < 1000000; i++)
		leaf();
	while (handlers < 100)
		BARRIER;
	printf("calls leaf %ld\ncalls handler %ld\ncalls in_handler %ld\n", leaves, handlers, inners);
	return 0;
}
