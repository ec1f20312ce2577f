/* Exceptions thrown and caught inside handlers, while the interrupted code throws as well.
 *
 * expect: caught all, handlers many
 */
#include <csignal>
#include <sys/time.h>
#include "check.h"

static volatile long handlers, in_handler;

NOINLINE static int dive(int depth)
{
	if (!depth)
		throw depth;
	int value = dive(depth - 1);
	BARRIER;
	return value;
}

static void on_alarm(int)
{
	/* glibc's unwinder takes no lock here: dl_find_object, libgcc 12 */
	try { dive(3); } catch (int) { in_handler = in_handler + 1; }
	handlers = handlers + 1;
}

int main()
{
	struct itimerval timer = { { 0, 500 }, { 0, 500 } }, off = {};
	struct sigaction action = {};
	long caught = 0, thrown = 0;
	action.sa_handler = on_alarm;
	action.sa_flags = SA_RESTART;
	try { dive(1); } catch (int) { }
	sigaction(SIGALRM, &action, nullptr);
	setitimer(ITIMER_REAL, &timer, nullptr);
	while (handlers < 100 || thrown < 20000) {
		thrown++;
		try { dive(thrown % 10); } catch (int) { caught++; }
	}
	setitimer(ITIMER_REAL, &off, nullptr);
	puts(caught == thrown && in_handler == handlers ? "caught all, handlers many" : "some lost");
}
