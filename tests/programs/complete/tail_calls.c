/* Tail calls share a return address: each still is a call with its own end.
 *
 * counts: yes
 * levels: -O2
 * expect: calls first 20000
 * expect: calls second 20000
 * expect: calls third 20000
 */
#include "check.h"

static long firsts, seconds, thirds;
NOINLINE static long third(long n)
{
	thirds++;
	BARRIER;
	return n * 2;
}
NOINLINE static long second(long n)
{
	seconds++;
	BARRIER;
	return third(n + 1);
}
NOINLINE static long first(long n)
{
	firsts++;
	BARRIER;
	return second(n + 1);
}

int main(void)
{
	long sum = 0;

	for (int i = 0; i < 20000; i++)
		sum += first(i);
	CHECK(sum == 20000L * 19999 + 80000);
	printf("calls first %ld\ncalls second %ld\ncalls third %ld\n", firsts, seconds, thirds);
	return 0;
}
