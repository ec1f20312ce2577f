/* Many short calls, of which ada-tune(1) says that they are to be left out. */
#include <stdlib.h>

#define NOINLINE __attribute__((noinline))

static volatile int sink;

NOINLINE void tick(int i)
{
	sink += i;
}

NOINLINE void pair(int i)
{
	tick(i);
	tick(i + 1);
	sink += i;
}

int main(int count, char **arguments)
{
	for (int i = 0; i < (count > 1 ? atoi(arguments[1]) : 1000); i++)
		pair(i);
	return 0;
}
