/* setcontext back into a frame that is still there, a function that returns through uc_link, and a context used up.
 *
 * expect: loops 100
 * expect: linked 50
 */
#include <ucontext.h>
#include "check.h"

static ucontext_t start, function;
static char stack[1 << 16];
static volatile int linked;

NOINLINE static void back(int depth)
{
	if (!depth)
		setcontext(&start);
	back(depth - 1);
	BARRIER;
}
static void count(int by)
{
	linked += by;
}

int main(void)
{
	volatile int loops = 0;

	getcontext(&start);
	if (loops++ < 99)
		back(10);
	printf("loops %d\n", loops);
	for (volatile int i = 0; i < 50; i++) {
		ucontext_t here;

		getcontext(&function);
		function.uc_stack.ss_sp = stack;
		function.uc_stack.ss_size = sizeof stack;
		function.uc_link = &here;
		makecontext(&function, (void (*)(void))count, 1, 1);
		swapcontext(&here, &function);
	}
	printf("linked %d\n", linked);
	return 0;
}
