/* A thread that may not read the time stamp counter any more dies of SIGSEGV where it does: strict seccomp takes it away, and
 * so does prctl. Every call site here was seen before that, so that its hook is the short one; threads and children
 * inherit it. (Programs do, too, but libc's loader reads the counter itself.)
 *
 * run: strict -> 0
 * run: prctl -> 0
 * run: syscall -> 0
 * run: handler -> 0
 * states: complete failed
 * expect: before 1000
 * expect: after 2000
 */
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

NOINLINE static long leaf(long n)
{
	BARRIER;
	return n + 1;
}
NOINLINE static long other(long n)
{
	BARRIER;
	return leaf(n) + leaf(n) - n - 1;
}

NOINLINE static long many(long n)
{
	for (int i = 0; i < 500; i++)
		n = other(leaf(n));
	return n;
}

NOINLINE static void *thread(void *n)
{
	return (void *)many((long)n);
}

static void forbid(const char *how)
{
	if (!strcmp(how, "strict"))
		CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT));
	else if (!strcmp(how, "syscall"))
		CHECK(!syscall(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0));
	else
		CHECK(!prctl(PR_SET_TSC, PR_TSC_SIGSEGV));
}

static void in_handler(int number)
{
	forbid("prctl");
}

/* What inherits it. */
static void others(long n)
{
	pthread_t made;
	void *result;
	int status;

	CHECK(!pthread_create(&made, NULL, thread, (void *)n) && !pthread_join(made, &result) && (long)result == n + 1000);
	pid_t pid = fork();
	if (!pid)
		_exit(many(n) != n + 1000);
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status));
}

static void by_handler(void)
{
	signal(SIGUSR2, in_handler);
	raise(SIGUSR2);
}

/* Twice the same call sites: before, and where the counter is forbidden. */
static void child(const char *how, int out)
{
	long n = 0, ends[2];

	for (int round = 0; round < 2; round++) {
		ends[round] = n = many(n);
		if (!round && !strcmp(how, "handler"))
			by_handler();
		else if (!round)
			forbid(how);
	}
	write(out, ends, sizeof ends);
	if (!strcmp(how, "strict"))
		syscall(SYS_exit, 0);
	others(n);
	exit(0);
}

int main(int count, char **arguments)
{
	long n[2];
	int ends[2], status;

	CHECK(!pipe(ends));
	pid_t pid = fork();
	if (!pid)
		child(arguments[1], ends[1]);
	CHECK(waitpid(pid, &status, 0) == pid);
	if (WIFSIGNALED(status))
		printf("killed by signal %d\n", WTERMSIG(status));
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status) && read(ends[0], n, sizeof n) == sizeof n);
	printf("before %ld\nafter %ld\n", n[0], n[1]);
	return 0;
}
