/* vfork's child shares the parent's memory and calls hooked functions before it execs or leaves.
 *
 * expect: exec 20, exit 20
 */
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

NOINLINE static void exec_at(int depth)
{
	if (!depth) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	exec_at(depth - 1);
	BARRIER;
}
NOINLINE static void leave_at(int depth)
{
	if (!depth)
		_exit(3);
	leave_at(depth - 1);
	BARRIER;
}

NOINLINE static int status_of(pid_t pid)
{
	int status = -1;

	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(void)
{
	volatile int execs = 0, exits = 0;

	for (volatile int i = 0; i < 20; i++) {
		pid_t pid = vfork();

		if (!pid)
			exec_at(5);
		execs += status_of(pid) == 0;
		pid = vfork();
		if (!pid)
			leave_at(5);
		exits += status_of(pid) == 3;
	}
	printf("exec %d, exit %d\n", execs, exits);
	return 0;
}
