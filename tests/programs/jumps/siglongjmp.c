/* siglongjmp out of handlers, nested handlers and from an alternate stack: what a handler entered is never returned from.
 *
 * expect: raised 1000
 * expect: faulted 1000
 * expect: mask kept
 */
#include <setjmp.h>
#include <signal.h>
#include "check.h"

static sigjmp_buf target;

NOINLINE static void jump_at(int depth)
{
	if (!depth)
		siglongjmp(target, 1);
	jump_at(depth - 1);
	BARRIER;
}
static void on_inner(int number)
{
	jump_at(3);
}
static void on_outer(int number)
{
	raise(SIGUSR2);
}
NOINLINE static int read_at(volatile int *place)
{
	return *place;
}

int main(void)
{
	static char stack[65536];
	stack_t alternate = { .ss_sp = stack, .ss_size = sizeof stack };
	struct sigaction outer = { .sa_handler = on_outer }, inner = { .sa_handler = on_inner, .sa_flags = SA_ONSTACK };
	volatile int raised = 0, faulted = 0;
	sigset_t mask;

	sigaltstack(&alternate, NULL);
	sigaction(SIGUSR1, &outer, NULL);
	sigaction(SIGUSR2, &inner, NULL);
	sigaction(SIGSEGV, &inner, NULL);
	for (volatile int i = 0; i < 1000; i++) {
		if (!sigsetjmp(target, 1))
			raise(SIGUSR1);
		else
			raised++;
		if (!sigsetjmp(target, 1))
			read_at(NULL);
		else
			faulted++;
	}
	sigprocmask(SIG_SETMASK, NULL, &mask);
	printf("raised %d\nfaulted %d\n", raised, faulted);
	puts(sigismember(&mask, SIGUSR1) || sigismember(&mask, SIGSEGV) ? "mask changed" : "mask kept");
	return 0;
}
