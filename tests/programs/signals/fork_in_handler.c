/* A handler forks in the midst of hooked code, and the child execs: async-signal-safe, so it must work.
 *
 * expect: children 20
 */
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

static volatile int children;
NOINLINE static long leaf(long n)
{
	BARRIER;
	return n + 1;
}

static void on_alarm(int number)
{
	int status;

	if (children == 20)
		return;
	pid_t pid = fork();
	if (!pid) {
		leaf(1);
		if (children & 1)
			execl("/bin/true", "true", (char *)NULL);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) == pid && status == 0)
		children++;
}

int main(void)
{
	struct itimerval timer = { { 0, 2000 }, { 0, 2000 } };

	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &timer, NULL);
	for (long n = 0; children < 20;)
		n = leaf(n);
	printf("children %d\n", children);
	return 0;
}
