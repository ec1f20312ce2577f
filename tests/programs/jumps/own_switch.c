/* A stack switch of the program's own, in assembly: nothing that a tracer could recognise by name.
 *
 * expect: 300 rounds, sum 45150
 */
#include "check.h"

__asm__(".text\n.type switch_stack, @function\nswitch_stack:\n"
	"	push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15\n"
	"	mov %rsp, (%rdi); mov %rsi, %rsp\n"
	"	pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp\n"
	"	ret\n.size switch_stack, . - switch_stack\n");
void switch_stack(void **save, void *load);

static void *outside, *inside;
static char stack[1 << 16] __attribute__((aligned(16)));
static long sum;

NOINLINE static void leave(int depth)
{
	if (depth)
		leave(depth - 1);
	else
		switch_stack(&inside, outside);
	BARRIER;
}

static void fiber(void)
{
	for (long i = 1;; i++) {
		sum += i;
		leave(i % 7);
	}
}

NOINLINE static void enter(void)
{
	switch_stack(&outside, inside);
	BARRIER;
}

int main(void)
{
	void **top = (void **)(stack + sizeof stack) - 2;

	*top = (void *)fiber;
	inside = top - 6;
	int rounds = 0;
	for (; rounds < 300; rounds++)
		enter();
	printf("%d rounds, sum %ld\n", rounds, sum);
	return 0;
}
