/* A timer signal every 200 us lands anywhere in hot code, also inside the hooks; its handler calls hooked functions.
 *
 * run: plain -> 0
 * run: below -> 0
 * run: above -> 0
 * expect: sum 8999997000000, signals many
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include "check.h"

static volatile long signals;
NOINLINE static long leaf(long x)
{
	BARRIER;
	return x * 2;
}
static void on_alarm(int number)
{
	for (int i = 0; i < 5; i++)
		leaf(i);
	signals++;
}

static void arm(const char *where)
{
	static char low[1 << 16];
	void *high = mmap((void *)0x7ffffff00000, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t stack = { .ss_sp = !strcmp(where, "above") ? high : low, .ss_size = 1 << 16 };
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	struct itimerval timer = { { 0, 200 }, { 0, 200 } };

	if (strcmp(where, "plain")) {
		sigaltstack(&stack, NULL);
		action.sa_flags |= SA_ONSTACK;
	}
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

int main(int count, char **arguments)
{
	struct itimerval off = { { 0 } };
	long sum = 0, last = 0;

	arm(arguments[1]);
	for (long i = 0; i < 3000000; i++)
		sum += leaf(i);
	while (signals < 20)
		last += leaf(1);
	setitimer(ITIMER_REAL, &off, NULL);
	printf("sum %ld, signals %s\n", sum, signals >= 20 ? "many" : "few");
	return 0;
}
