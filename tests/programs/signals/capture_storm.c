/* Calls with captures, interrupted by a handler whose calls have captures, at 20 kHz.
 * trace: --trigger=symbol=done@pre=100000ev --capture=outer:1=str,inner:1=str
 * storm: no
 * expect: done
 */
#define _GNU_SOURCE
#include "check.h"
#include <signal.h>
#include <string.h>
#include <sys/time.h>

static volatile sig_atomic_t handled;

NOINLINE unsigned long outer(const char *text, unsigned long number)
{
	BARRIER;
	return number + (unsigned char)*text;
}

NOINLINE unsigned long inner(const char *text, unsigned long number)
{
	BARRIER;
	return number + (unsigned char)*text;
}

NOINLINE static void done(void)
{
	BARRIER;
	puts("done");
}

static void put(char *text, const char *name, unsigned long number)
{
	char digits[24];
	int count = 0;

	do
		digits[count++] = (char)('0' + number % 10);
	while (number /= 10);
	text = stpcpy(text, name);
	while (count)
		*text++ = digits[--count];
	*text = 0;
}

static void handler(int number)
{
	char text[40];

	for (int i = 0; i < 3; i++) {
		put(text, "inner ", (unsigned long)handled * 3 + (unsigned long)i);
		inner(text, (unsigned long)handled * 3 + (unsigned long)i);
	}
	handled++;
	(void)number;
}

int main(void)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
	struct itimerval often = { { 0, 50 }, { 0, 50 } }, never = { { 0, 0 }, { 0, 0 } };
	static char text[40]; /* not on the stack: the kernel copies it */

	CHECK(!sigaction(SIGALRM, &action, NULL) && !setitimer(ITIMER_REAL, &often, NULL));
	for (unsigned long i = 0; i < 20000 || handled < 500; i++) {
		put(text, "outer ", i);
		outer(text, i);
	}
	CHECK(!setitimer(ITIMER_REAL, &never, NULL));
	done();
	return 0;
}
