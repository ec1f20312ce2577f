/* Processes and a thread-like task made by system calls that no libc wrapper sees, and by clone(2)'s and _Fork.
 *
 * expect: syscall fork 7, syscall clone 7, clone 11, shared memory 11, vfork-like 11, _Fork 7
 */
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

static char stack[1 << 16] __attribute__((aligned(16)));
static int shared;
NOINLINE static int work(int depth)
{
	int n = depth ? work(depth - 1) : 0;

	BARRIER;
	return n + 1;
}
static int body(void *unused)
{
	shared = work(10);
	_exit(shared);
}

NOINLINE static int status_of(pid_t pid)
{
	int status = -1;

	if (!pid)
		_exit(work(6));
	CHECK(pid > 0 && waitpid(pid, &status, __WALL) == pid && WIFEXITED(status));
	return WEXITSTATUS(status);
}

int main(void)
{
	int results[6];

	results[0] = status_of(syscall(SYS_fork));
	results[1] = status_of(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
	results[2] = status_of(clone(body, stack + sizeof stack, SIGCHLD, NULL));
	CHECK(!shared);
	results[3] = status_of(clone(body, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL));
	CHECK(shared == 11);
	results[4] = status_of(clone(body, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL));
	results[5] = status_of(_Fork());
	printf("syscall fork %d, syscall clone %d, clone %d, shared memory %d, vfork-like %d, _Fork %d\n", results[0], results[1],
	       results[2], results[3], results[4], results[5]);
	return 0;
}
