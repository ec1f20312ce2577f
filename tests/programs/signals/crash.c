/* Each fatal signal, ten frames deep, by fault or by raise: the exit status and what is printed before stay the same.
 *
 * run: segv -> -11
 * run: bus -> -7
 * run: fpe -> -8
 * run: ill -> -4
 * run: trap -> -5
 * run: abort -> -6
 * run: sys -> -31
 * run: term -> -15
 * run: kill -> -9
 * run: int -> -2
 * run: quit -> -3
 * run: hup -> -1
 * run: alarm -> -14
 * run: pipe -> -13
 * run: usr1 -> -10
 * run: xcpu -> -24
 * expect: about to
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "check.h"

static const struct {
	const char *name;
	int number;
} signals[] = { { "sys", SIGSYS }, { "term", SIGTERM },	 { "kill", SIGKILL }, { "int", SIGINT },  { "quit", SIGQUIT },
		{ "hup", SIGHUP }, { "alarm", SIGALRM }, { "usr1", SIGUSR1 }, { "xcpu", SIGXCPU } };
static volatile int zero;

NOINLINE static void crash(const char *how)
{
	int ends[2];

	if (!strcmp(how, "segv"))
		*(volatile int *)8 = 1;
	if (!strcmp(how, "bus")) {
		FILE *empty = tmpfile();

		*(volatile int *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(empty), 0) = 1;
	}
	if (!strcmp(how, "fpe"))
		zero = 10 / zero;
	if (!strcmp(how, "ill"))
		__asm__ volatile("ud2");
	if (!strcmp(how, "trap"))
		__asm__ volatile("int3");
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "pipe") && !pipe(ends)) {
		close(ends[0]);
		write(ends[1], "x", 1);
	}
	for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++)
		if (!strcmp(how, signals[i].name))
			raise(signals[i].number);
}
NOINLINE static void crash_at(int depth, const char *how)
{
	if (depth)
		crash_at(depth - 1, how);
	else
		crash(how);
	BARRIER;
}

int main(int count, char **arguments)
{
	puts("about to");
	fflush(stdout);
	crash_at(10, arguments[1]);
	return 0;
}
