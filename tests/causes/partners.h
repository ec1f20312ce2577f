/* Two threads that hand a byte to and fro: one asks, the other answers until nobody asks any more. */
#include <stdlib.h>
#include <unistd.h>

static int there[2], back[2];

static void *answer(void *context)
{
	char byte;

	while (read(there[0], &byte, 1) == 1)
		if (write(back[1], &byte, 1) != 1)
			abort();
	return context;
}

__attribute__((noinline)) static void ask(void)
{
	char byte = 0;

	if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
		abort();
}
