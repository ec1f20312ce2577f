/* Children that die of signals, stop, continue and leave zombies: wait(2) shows the same as ever. The first one may be killed
 * before its agent is ready, and then its recording says so.
 *
 * expect: killed 9
 * expect: crashed 11
 * expect: stopped 19, continued, exited 4
 * expect: rusage counted
 * states: complete failed
 */
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

NOINLINE static void spin(void)
{
	BARRIER;
}
NOINLINE static int crash(volatile int *place)
{
	return *place;
}

int main(void)
{
	struct rusage usage;
	int status;
	pid_t pid = fork();

	if (!pid)
		for (;;)
			spin();
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	printf("killed %d\n", WTERMSIG(status));
	pid = fork();
	if (!pid)
		_exit(crash(NULL));
	waitpid(pid, &status, 0);
	printf("crashed %d\n", WTERMSIG(status));
	pid = fork();
	if (!pid) {
		raise(SIGSTOP);
		_exit(4);
	}
	CHECK(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
	printf("stopped %d, ", WSTOPSIG(status));
	kill(pid, SIGCONT);
	CHECK(wait4(pid, &status, 0, &usage) == pid && WIFEXITED(status));
	printf("continued, exited %d\n", WEXITSTATUS(status));
	puts(usage.ru_maxrss > 0 ? "rusage counted" : "no rusage");
	return 0;
}
