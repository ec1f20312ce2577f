/* Recursion counts itself: a tree, a chain of 10,000 frames, and mutual recursion.
 *
 * counts: yes
 * expect: calls tree 262143
 * expect: calls chain 100010
 * expect: calls ping 500
 * expect: calls pong 501
 */
#include "check.h"

static long trees, chains, pings, pongs;
NOINLINE static void tree(int depth)
{
	trees++;
	if (depth) {
		tree(depth - 1);
		tree(depth - 1);
	}
	BARRIER;
}
NOINLINE static void chain(int depth)
{
	chains++;
	if (depth)
		chain(depth - 1);
	BARRIER;
}
NOINLINE static void ping(int n);
NOINLINE static void pong(int n)
{
	pongs++;
	if (n)
		ping(n - 1);
	BARRIER;
}
NOINLINE static void ping(int n)
{
	pings++;
	pong(n);
	BARRIER;
}

int main(void)
{
	tree(17);
	for (int i = 0; i < 10; i++)
		chain(10000);
	pong(500);
	printf("calls tree %ld\ncalls chain %ld\ncalls ping %ld\ncalls pong %ld\n", trees, chains, pings, pongs);
	return 0;
}
