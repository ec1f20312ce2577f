/* daemon(3): the first process ends with status 0 at once, and what goes on has no terminal.
 *
 * expect: before
 * run: -> 0
 */
#include <unistd.h>
#include "check.h"

NOINLINE static int work(int depth)
{
	int n = depth ? work(depth - 1) : 0;

	BARRIER;
	return n + 1;
}

int main(void)
{
	puts("before");
	fflush(stdout);
	CHECK(daemon(0, 0) == 0);
	return work(100) != 101;
}
