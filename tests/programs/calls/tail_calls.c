/* Mutual tail calls by the million run in one frame; also through pointers and into a function with other arguments.
 *
 * levels: -O2
 * expect: even 1, odd 0
 * expect: machine 3000000
 */
#include "check.h"

NOINLINE static int odd(int n);
NOINLINE static int even(int n)
{
	BARRIER;
	return n ? odd(n - 1) : 1;
}
NOINLINE static int odd(int n)
{
	BARRIER;
	return n ? even(n - 1) : 0;
}

typedef long step(long state, long a, long b, long c);
static step add, swap, stop;
static step *const steps[] = { add, swap, add, stop };
NOINLINE static long add(long state, long a, long b, long c)
{
	BARRIER;
	return steps[c ? 1 : 3](state + 1, b, a, c);
}
NOINLINE static long swap(long state, long a, long b, long c)
{
	BARRIER;
	return steps[c & 2](state, b, a, c - 1);
}
NOINLINE static long stop(long state, long a, long b, long c)
{
	BARRIER;
	return state;
}

int main(void)
{
	printf("even %d, odd %d\n", even(3000000), odd(3000000));
	printf("machine %ld\n", add(0, 1, 2, 2999999));
	return 0;
}
