/* SIGKILL in the midst: what was called before it is in the recording, to the last event.
 *
 * counts: yes
 * threads: open
 * run: -> -9
 * expect: calls leaf 100000
 * expect: calls fatal 1
 */
#include <signal.h>
#include "check.h"

static long leaves;
NOINLINE static void leaf(void)
{
	leaves++;
}
NOINLINE static void fatal(void)
{
	printf("calls leaf %ld\ncalls fatal 1\n", leaves);
	fflush(stdout);
	raise(SIGKILL);
}

int main(void)
{
	for (int i = 0; i < 100000; i++)
		leaf();
	fatal();
	return 0;
}
