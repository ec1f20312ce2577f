/* A server that started as root becomes nobody and forks: its children must run, recorded or not.
 *
 * needs: root
 * expect: child 11 as 65534
 */
#include <sys/wait.h>
#include <unistd.h>
#include <grp.h>
#include "check.h"

NOINLINE static int work(int depth)
{
	int n = depth ? work(depth - 1) : 0;

	BARRIER;
	return n + 1;
}

int main(void)
{
	int status;

	CHECK(!setgroups(0, NULL) && !setgid(65534) && !setuid(65534));
	pid_t pid = fork();
	if (!pid)
		_exit(work(10));
	CHECK(waitpid(pid, &status, 0) == pid);
	printf("child %d as %d\n", WEXITSTATUS(status), getuid());
	return 0;
}
