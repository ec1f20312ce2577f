/* Single-steps through calls whose sites were seen before: a critical section that restarts at each trap would never end.
 *
 * expect: sum 600, stepped
 */
#include <signal.h>
#include <ucontext.h>
#include "check.h"

static volatile int stepping;
static long traps;

NOINLINE static long leaf(long n)
{
	BARRIER;
	return n + 1;
}
NOINLINE static long middle(long n)
{
	return leaf(leaf(n)) + 0 * n;
}
NOINLINE static long run(long n)
{
	for (int i = 0; i < 100; i++)
		n = middle(n);
	return n;
}

static void on_trap(int number, siginfo_t *info, void *context)
{
	traps++;
	if (!stepping)
		((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~0x100;
}

NOINLINE static long twice(long n)
{
	for (int round = 0; round < 3; round++) {
		if (round == 1) {
			stepping = 1;
			__asm__ volatile("pushfq; orl $0x100, (%%rsp); popfq" ::: "cc", "memory");
		}
		n = run(n);
		stepping = 0;
	}
	return n;
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };

	sigaction(SIGTRAP, &action, NULL);
	long sum = twice(0);
	printf("sum %ld, %s\n", sum, traps > 1000 ? "stepped" : "not stepped");
	return 0;
}
