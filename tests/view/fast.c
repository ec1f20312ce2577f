/* Calls as fast as it can until its input ends. */
#include <poll.h>
#include <stdio.h>

static volatile unsigned int last;

static __attribute__((noinline)) void leaf(unsigned int count)
{
	last = count;
}

static __attribute__((noinline)) void work(unsigned int count)
{
	for (unsigned int i = 0; i < 20; i++)
		leaf(count + i);
}

int main(void)
{
	struct pollfd input = { .fd = 0, .events = POLLIN };

	puts("ready");
	fflush(stdout);
	do
		for (unsigned int i = 0; i < 20000; i++)
			work(i);
	while (!poll(&input, 1, 0));
	return 0;
}
