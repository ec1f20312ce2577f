/* 100,000 frames deep, ten times: the shadow stack is bookkeeping, so running out of it may lose events, never control.
 *
 * expect: 1000010 frames
 */
#include <sys/resource.h>
#include <unistd.h>
#include "check.h"

NOINLINE static long dive(long depth)
{
	long frames = depth ? dive(depth - 1) : 0;

	BARRIER;
	return frames + 1;
}

int main(int count, char **arguments)
{
	struct rlimit stack = { 64 << 20, 64 << 20 };
	long frames = 0;

	if (count == 1 && !setrlimit(RLIMIT_STACK, &stack)) /* a limit counts from the next exec */
		execl("/proc/self/exe", arguments[0], "again", (char *)NULL);
	for (int i = 0; i < 10; i++)
		frames += dive(100000);
	printf("%ld frames\n", frames);
	return 0;
}
