/* A leaf keeps data below rsp, in the red zone, while signals arrive; and its callee-less loop is entered 100,000 times.
 *
 * flags: -mred-zone
 * expect: sum 100000, red zone kept
 */
#include <signal.h>
#include <sys/time.h>
#include "check.h"

NOINLINE static long handler_work(long n)
{
	BARRIER;
	return n;
}
static void on_alarm(int number)
{
	handler_work(number);
}

NOINLINE static int red_zone(int n)
{
	int kept;

	__asm__ volatile("mov %1, -8(%%rsp); mov %1, -64(%%rsp); mov %1, -120(%%rsp)\n\t"
			 "mov $50, %%ecx; 1: dec %%ecx; jnz 1b\n\t"
			 "mov -8(%%rsp), %0; xor -64(%%rsp), %0; xor -120(%%rsp), %0"
			 : "=&r"(kept)
			 : "r"(n)
			 : "ecx", "memory", "cc");
	return kept == n;
}

int main(void)
{
	struct itimerval timer = { { 0, 300 }, { 0, 300 } };
	long sum = 0;

	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &timer, NULL);
	for (int i = 0; i < 100000; i++)
		sum += red_zone(i);
	printf("sum %ld, red zone %s\n", sum, sum == 100000 ? "kept" : "overwritten");
	return 0;
}
