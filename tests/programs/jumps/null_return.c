/* Fibers whose first function has no caller: where its return address would be lies a null (as Ruby's coroutines have it), -1,
 * or what no CPU takes for an address. Each fiber's stack lies below the last one's, so that its first slot looks like the
 * next call's.
 *
 * expect: 12 deep, sum 78
 * expect: 12 deep, sum 78
 */
#include "check.h"

#define FIBERS 12
#define STACK_BYTES (64 << 10)

__asm__(".text\n.type switch_stack, @function\nswitch_stack:\n"
	"	push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15\n"
	"	mov %rsp, (%rdi); mov %rsi, %rsp\n"
	"	pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp\n"
	"	ret\n.size switch_stack, . - switch_stack\n");
void switch_stack(void **save, void *load);

static char stacks[FIBERS][STACK_BYTES] __attribute__((aligned(16)));
static void *above[FIBERS], *finished;
static int next;
static long sum;

static void descend(int depth);

/* One for each return address: what is remembered of a function's callers is empty for all of them. */
static void first_null(void)
{
	descend(next);
}
static void first_minus_one(void)
{
	descend(next);
}
static void first_not_canonical(void)
{
	descend(next);
}
static void first_one(void)
{
	descend(next);
}

NOINLINE static void start(int depth)
{
	static void (*const firsts[])(void) = { first_null, first_minus_one, first_not_canonical, first_one };
	static void *const returns[] = { 0, (void *)-1, (void *)0x1234567812345678, (void *)1 };
	void **top = (void **)(stacks[FIBERS - 1 - depth] + STACK_BYTES) - 3;

	top[0] = returns[depth % 4];
	top[-1] = (void *)firsts[depth % 4];
	next = depth + 1;
	switch_stack(&above[depth], top - 7);
	BARRIER;
}

NOINLINE static void descend(int depth)
{
	sum += depth;
	if (depth < FIBERS)
		start(depth);
	switch_stack(&finished, above[depth - 1]);
}

int main(void)
{
	for (int round = 0; round < 2; round++) {
		sum = 0;
		start(0);
		printf("%d deep, sum %ld\n", FIBERS, sum);
	}
	return 0;
}
