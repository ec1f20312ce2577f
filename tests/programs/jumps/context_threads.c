/* A coroutine that is suspended on one thread and resumed on another: its frames belong to no thread.
 *
 * flags: -pthread
 * expect: steps 400
 */
#include <pthread.h>
#include <ucontext.h>
#include "check.h"

static ucontext_t caller, coroutine;
static char stack[1 << 16];
static int steps;

NOINLINE static void step(int depth)
{
	if (depth)
		step(depth - 1);
	else
		swapcontext(&coroutine, &caller);
	BARRIER;
}

static void body(void)
{
	for (;;) {
		step(steps % 5);
		steps++;
	}
}

static void *visit(void *unused)
{
	for (int i = 0; i < 10; i++)
		swapcontext(&caller, &coroutine);
	return NULL;
}

int main(void)
{
	getcontext(&coroutine);
	coroutine.uc_stack.ss_sp = stack;
	coroutine.uc_stack.ss_size = sizeof stack;
	makecontext(&coroutine, body, 0);
	swapcontext(&caller, &coroutine);
	for (int i = 0; i < 40; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, visit, NULL);
		pthread_join(thread, NULL);
	}
	printf("steps %d\n", steps);
	return 0;
}
