/* A SIGSEGV and a SIGFPE become C++ exceptions: thrown in a handler, through the signal frame.
 *
 * flags: -fnon-call-exceptions -fasynchronous-unwind-tables
 * compilers: gcc
 * expect: segv 100
 * expect: fpe 100
 */
#include <csignal>
#include "check.h"

static void on_signal(int number)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, number);
	sigprocmask(SIG_UNBLOCK, &set, nullptr);
	throw number;
}

NOINLINE static int read_at(volatile int *place) { return *place; }
static volatile int quotient;
NOINLINE static void divide(volatile int a, volatile int b) { quotient = a / b; }

int main()
{
	int segv = 0, fpe = 0;
	signal(SIGSEGV, on_signal);
	signal(SIGFPE, on_signal);
	for (int i = 0; i < 100; i++) {
		try { read_at(nullptr); } catch (int number) { segv += number == SIGSEGV; }
		try { divide(i, 0); } catch (int number) { fpe += number == SIGFPE; }
	}
	printf("segv %d\nfpe %d\n", segv, fpe);
}
