/* A program's own crash handler prints, restores the default and lets the signal come again; one that chains (SA_RESETHAND).
 *
 * run: again -> -11
 * run: resethand -> -11
 * run: exits -> 9
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include "check.h"

static const char *how;
NOINLINE static void say(const char *text)
{
	write(2, text, strlen(text));
	BARRIER;
}

static void on_fault(int number)
{
	say("handler ran\n");
	if (!strcmp(how, "exits"))
		_exit(9);
	if (!strcmp(how, "again"))
		signal(number, SIG_DFL);
}

NOINLINE static int read_at(int depth, volatile int *place)
{
	int value = depth ? read_at(depth - 1, place) : *place;

	BARRIER;
	return value;
}

int main(int count, char **arguments)
{
	struct sigaction action = { .sa_handler = on_fault };

	how = arguments[1];
	if (!strcmp(how, "resethand"))
		action.sa_flags = SA_RESETHAND;
	sigaction(SIGSEGV, &action, NULL);
	return read_at(10, NULL);
}
