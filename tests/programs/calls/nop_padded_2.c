/* Built with -fpatchable-function-entry=2: NOPs at each entry, some perhaps before it, listed in a section of their own.
 *
 * flags: -fpatchable-function-entry=2
 * expect: 55 3628800
 */
#include "check.h"

NOINLINE static long sum(long n)
{
	long rest = n ? sum(n - 1) : 0;

	BARRIER;
	return rest + n;
}
NOINLINE static long product(long n)
{
	long rest = n > 1 ? product(n - 1) : 1;

	BARRIER;
	return rest * n;
}

int main(void)
{
	for (int i = 0; i < 1000; i++)
		CHECK(sum(10) == 55 && product(10) == 3628800);
	printf("%ld %ld\n", sum(10), product(10));
	return 0;
}
