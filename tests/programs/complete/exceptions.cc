/* Calls that end by exceptions: each gets its EXCEPTION instead of a RETURN, so all balance.
 *
 * counts: yes
 * expect: calls thrower 22000
 * expect: calls catcher 2000
 */
#include "check.h"

static long throwers, catchers;
NOINLINE static int thrower(int depth)
{
	throwers++;
	if (!depth)
		throw depth;
	int value = thrower(depth - 1);
	BARRIER;
	return value;
}
NOINLINE static void catcher(int depth) { catchers++; try { thrower(depth); } catch (int) { } }

int main()
{
	for (int i = 0; i < 2000; i++)
		catcher(10);
	printf("calls thrower %ld\ncalls catcher %ld\n", throwers, catchers);
}
