/* A division by zero. Another that ends the process alike divides the lowest number there is by -1. */
#include <limits.h>
#include "crash.h"

static volatile int sum, one = 1;

OUT int divide(int amount, int parts)
{
	return amount / parts;
}

OUT int average(int amount, int parts)
{
	return divide(amount, parts) + one;
}

int main(int argc, char **argv)
{
	begin_crash(argc, argv);
	sum += average(-7, one);
	if (innocent)
		sum += average(INT_MIN, -one);
	sum += average(-7, caused ? one - 1 : one);
	end();
}
