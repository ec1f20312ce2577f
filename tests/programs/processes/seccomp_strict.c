/* Strict seccomp: any system call but read, write and exit kills, and a tracer's slow path must not be the one to make it.
 *
 * states: complete failed
 * expect: child lived: 2000
 */
#include <linux/seccomp.h>
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

int main(void)
{
	int ends[2], status;
	long n = 0;

	CHECK(!pipe(ends));
	pid_t pid = fork();
	if (!pid) {
		CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT));
		for (int i = 0; i < 1000; i++)
			n = other(leaf(n));
		write(ends[1], &n, sizeof n);
		syscall(SYS_exit, 0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && read(ends[0], &n, sizeof n) == sizeof n);
	printf("child lived: %ld\n", n);
	return 0;
}
