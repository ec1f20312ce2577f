/* fall CALLS: so many calls of `middle`, which calls `inner`. Both are dear, so a budget has muted them by the time that `outermost` calls them
 * once more, and `inner` crashes. */
#include <stdlib.h>

#define OUT __attribute__((noinline, noclone))

static int *volatile nowhere;
static volatile long count;

OUT static int inner(long number)
{
	count++;
	return number < 0 ? *nowhere : (int)number * 3;
}

OUT static int middle(long number)
{
	return inner(number) + 1;
}

OUT static int outermost(long number)
{
	return middle(-number) + 2;
}

int main(int argc, char **argv)
{
	long calls = argc > 1 ? atol(argv[1]) : 0;
	int sum = 0;

	for (long i = 0; i < calls; i++)
		sum ^= middle(i);
	return outermost(1 + (sum & 1));
}
