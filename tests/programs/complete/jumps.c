/* Calls that a longjmp leaves: closed at the latest when the thread's next event shows that they are gone.
 *
 * counts: yes
 * expect: calls jumper 5500
 * expect: calls target 500
 */
#include <setjmp.h>
#include "check.h"

static jmp_buf place;
static long jumpers, targets;
NOINLINE static void jumper(int depth)
{
	jumpers++;
	if (!depth)
		longjmp(place, 1);
	jumper(depth - 1);
	BARRIER;
}
NOINLINE static void target(void)
{
	targets++;
	if (!setjmp(place))
		jumper(10);
	BARRIER;
}

int main(void)
{
	for (int i = 0; i < 500; i++)
		target();
	printf("calls jumper %ld\ncalls target %ld\n", jumpers, targets);
	return 0;
}
