/* Throws through calls, cleanups and catches, recursion and a rethrow: whichever unwinder the program is linked with. */
#include "check.h"

static int cleanups;
struct guard {
	~guard()
	{
		cleanups++;
	}
};

NOINLINE int dive(int depth)
{
	guard here;

	if (!depth)
		throw 42;
	int result = dive(depth - 1) + 1;
	BARRIER;
	return result;
}

NOINLINE int catcher(int depth)
{
	try {
		return dive(depth);
	} catch (int value) {
		return value + depth;
	}
}

NOINLINE int rethrower(int depth)
{
	try {
		return catcher(depth) + dive(depth);
	} catch (int) {
		cleanups++;
		throw;
	}
}

int main()
{
	int sum = 0;

	for (int i = 0; i < 100; i++)
		sum += catcher(i);
	try {
		rethrower(10);
	} catch (int value) {
		sum += value;
	}
	try {
		throw 1;
	} catch (int value) {
		sum += value;
	}
	printf("sum %d, %d cleanups\n", sum, cleanups);
	return 0;
}
