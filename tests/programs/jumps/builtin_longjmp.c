/* __builtin_longjmp restores rsp and rbp with no library call that could tell.
 *
 * expect: 1000
 */
#include "check.h"

static void *target[5];

NOINLINE static void jump_from(int depth)
{
	if (!depth)
		__builtin_longjmp(target, 1);
	jump_from(depth - 1);
	BARRIER;
}

NOINLINE static void once(volatile int *jumps)
{
	if (!__builtin_setjmp(target))
		jump_from(10);
	++*jumps;
}

int main(void)
{
	volatile int jumps = 0;

	for (int i = 0; i < 1000; i++)
		once(&jumps);
	printf("%d\n", jumps);
	return 0;
}
