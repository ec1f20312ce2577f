/* Endless recursion hits the guard page; a handler on an alternate stack recovers by siglongjmp, five times.
 *
 * compilers: gcc clang
 * expect: recovered 5
 */
#include <setjmp.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>
#include "check.h"

static sigjmp_buf target;
static void on_fault(int number)
{
	siglongjmp(target, 1);
}

NOINLINE static int endless(volatile int depth)
{
	volatile char frame[512];

	frame[0] = depth;
	int value = endless(depth + 1);
	BARRIER;
	return value + frame[0];
}

int main(int count, char **arguments)
{
	static char stack[1 << 16];
	stack_t alternate = { .ss_sp = stack, .ss_size = sizeof stack };
	struct sigaction action = { .sa_handler = on_fault, .sa_flags = SA_ONSTACK };
	volatile int recovered = 0;

	sigaltstack(&alternate, NULL);
	sigaction(SIGSEGV, &action, NULL);
	for (volatile int i = 0; i < 5; i++) {
		if (!sigsetjmp(target, 1))
			endless(0);
		else
			recovered++;
	}
	printf("recovered %d\n", recovered);
	return 0;
}
