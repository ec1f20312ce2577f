/* Frames of megabytes, alloca of many sizes, variable arrays, an over-aligned frame: rsp moves far between events.
 *
 * expect: large 8388607, alloca 4950, aligned 1
 */
#include <alloca.h>
#include <string.h>
#include "check.h"

NOINLINE static long large(int depth)
{
	volatile char frame[1 << 20];

	frame[0] = depth;
	frame[sizeof frame - 1] = 1;
	long below = depth ? large(depth - 1) : 0;
	BARRIER;
	return below + sizeof frame - (depth == 0 && frame[0] == 0);
}
NOINLINE static int touch(char *place, int n)
{
	memset(place, n, n);
	BARRIER;
	return n ? place[n / 2] : 0;
}
NOINLINE static int with_alloca(int n)
{
	int value = touch(alloca(n + 1), n);

	BARRIER;
	return value;
}
NOINLINE static int aligned(void)
{
	volatile char place[64] __attribute__((aligned(4096)));

	place[0] = 1;
	return (unsigned long)place % 4096 == 0 && touch((char *)place, 2) == 2;
}

int main(void)
{
	int sum = 0;

	for (int i = 0; i < 100; i++)
		sum += with_alloca(i);
	printf("large %ld, alloca %d, aligned %d\n", large(6) + (1 << 20), sum, aligned());
	return 0;
}
