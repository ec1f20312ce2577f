/* A tracer that attaches to its recorded child again and again, while the recorder stops the child's threads to change its hooks: it is
 * never refused for that, as it wouldn't be without ada. (One in twenty was.)
 *
 * trace: --debug-flip
 * compilers: gcc
 * threads: open
 * expect: attached 200 times
 */
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "check.h"

#define ROUNDS 200

NOINLINE static long leaf(long n)
{
	BARRIER;
	return n + 1;
}

NOINLINE static long branch(long n)
{
	BARRIER;
	return leaf(n) + 1;
}

static void child_work(void)
{
	for (long n = 0;; n++)
		branch(n);
}

/* By libc's function and by number, in turns. */
static long seize(pid_t pid, int round)
{
	return round % 2 ? syscall(SYS_ptrace, PTRACE_SEIZE, pid, NULL, NULL) : ptrace(PTRACE_SEIZE, pid, NULL, NULL);
}

int main(void)
{
	const struct timespec between = { 0, 3000000 }; /* the recorder, too, has its turn */
	int attached = 0, status;
	pid_t pid = fork();

	if (!pid)
		child_work();
	for (int round = 0; round < ROUNDS; round++) {
		if (!seize(pid, round)) {
			attached++;
			CHECK(!ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) && waitpid(pid, &status, 0) == pid && WIFSTOPPED(status));
			CHECK(!ptrace(PTRACE_DETACH, pid, NULL, NULL));
		}
		nanosleep(&between, NULL);
	}
	CHECK(!kill(pid, SIGKILL) && waitpid(pid, &status, 0) == pid);
	printf("attached %d times\n", attached);
	return 0;
}
