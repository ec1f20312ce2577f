/* A program that traces itself with the trap flag: SIGTRAP after each instruction, also of trampolines.
 *
 * expect: sum 45, stepped
 */
#include <signal.h>
#include <ucontext.h>
#include "check.h"

static volatile long steps;
NOINLINE static long leaf(long n)
{
	BARRIER;
	return n;
}
static void on_trap(int number, siginfo_t *info, void *context)
{
	steps++;
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	volatile long sum = 0;

	sigaction(SIGTRAP, &action, NULL);
	__asm__ volatile("pushfq; orl $0x100, (%%rsp); popfq" ::: "cc", "memory");
	for (int i = 0; i < 10; i++)
		sum += leaf(i);
	__asm__ volatile("pushfq; andl $~0x100, (%%rsp); popfq" ::: "cc", "memory");
	printf("sum %ld, %s\n", sum, steps > 50 ? "stepped" : "not stepped");
	return 0;
}
