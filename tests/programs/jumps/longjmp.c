/* longjmp leaves 20 frames a thousand times: control never depends on a shadow stack, and the frames are closed.
 *
 * expect: jumps 1000
 * expect: loop 500
 */
#include <setjmp.h>
#include "check.h"

static jmp_buf target, inner;

NOINLINE static void jump_from(int depth)
{
	if (!depth)
		longjmp(target, 1);
	jump_from(depth - 1);
	BARRIER;
}

NOINLINE static int jump_within(int depth)
{
	if (!depth)
		longjmp(inner, 2);
	int value = jump_within(depth - 1);
	BARRIER;
	return value;
}

NOINLINE static int middle(void)
{
	int value = setjmp(inner);

	if (!value)
		return jump_within(7);
	return value;
}

int main(void)
{
	volatile int jumps = 0, loop = 0;

	for (volatile int i = 0; i < 1000; i++) {
		if (!setjmp(target))
			jump_from(20);
		else
			jumps++;
	}
	for (volatile int i = 0; i < 500; i++)
		loop += middle() == 2;
	printf("jumps %d\nloop %d\n", jumps, loop);
	return 0;
}
