/* A tail-called function throws: one stub closes every frame that shares its return address.
 *
 * expect: 13
 * expect: 44 44 44
 */
#include "check.h"

NOINLINE static int tail_last(int n)
{
	if (n == 13)
		throw 13;
	BARRIER;
	return n * 2;
}
NOINLINE static int tail_middle(int n) { BARRIER; return tail_last(n + 1); }
NOINLINE static int tail_first(int n) { BARRIER; return tail_middle(n + 1); }

int main()
{
	try { tail_first(11); } catch (int value) { printf("%d\n", value); }
	printf("%d %d %d\n", tail_first(20), tail_first(20), tail_first(20));
}
