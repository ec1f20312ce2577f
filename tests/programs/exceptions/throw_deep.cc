/* An exception through 20,000 frames: more than any shadow stack's first guess.
 *
 * expect: 9
 */
#include "check.h"

NOINLINE static int dive(int depth)
{
	if (!depth)
		throw 9;
	int value = dive(depth - 1);
	BARRIER;
	return value + 1;
}

int main()
{
	try { dive(20000); } catch (int value) { printf("%d\n", value); }
}
