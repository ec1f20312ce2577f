/* Two coroutines in turn, on mapped stacks and on adjacent ones, each suspended seven frames deep.
 *
 * expect: apart 200
 * expect: adjacent 200
 */
#include <sys/mman.h>
#include <ucontext.h>
#include "check.h"

static ucontext_t scheduler, coroutines[2];

NOINLINE static int yield(int which, int value)
{
	swapcontext(&coroutines[which], &scheduler);
	BARRIER;
	return value + 1;
}

NOINLINE static int yield_deep(int which, int depth)
{
	int value = depth ? yield_deep(which, depth - 1) : yield(which, 0);

	BARRIER;
	return value + 1;
}

static void coroutine(int which)
{
	for (;;)
		CHECK(yield_deep(which, 5) == 7);
}

NOINLINE static int resume(int which)
{
	swapcontext(&scheduler, &coroutines[which]);
	BARRIER;
	return 1;
}

NOINLINE static int interleave(int adjacent)
{
	static char stacks[2][1 << 16];
	int turns = 0;

	for (int i = 0; i < 2; i++) {
		void *far = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		getcontext(&coroutines[i]);
		coroutines[i].uc_stack.ss_sp = adjacent ? stacks[i] : far;
		coroutines[i].uc_stack.ss_size = 1 << 16;
		makecontext(&coroutines[i], (void (*)(void))coroutine, 1, i);
	}
	for (int i = 0; i < 100; i++)
		for (int which = 0; which < 2; which++)
			turns += resume(which);
	return turns;
}

int main(void)
{
	printf("apart %d\n", interleave(0));
	printf("adjacent %d\n", interleave(1));
	return 0;
}
