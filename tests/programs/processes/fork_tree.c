/* A tree of 31 processes, each a provider of its own, whose exit statuses add up at the root.
 *
 * expect: 31 processes
 */
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

NOINLINE static int work(int depth)
{
	int n = depth ? work(depth - 1) : 0;

	BARRIER;
	return n + 1;
}

static int grow(int level)
{
	pid_t children[2];
	int count = 1, status;

	CHECK(work(20) == 21);
	if (!level)
		return count;
	for (int i = 0; i < 2; i++) {
		children[i] = fork();
		CHECK(children[i] >= 0);
		if (!children[i])
			_exit(grow(level - 1));
	}
	for (int i = 0; i < 2; i++) {
		CHECK(waitpid(children[i], &status, 0) == children[i] && WIFEXITED(status));
		count += WEXITSTATUS(status);
	}
	return count;
}

int main(void)
{
	printf("%d processes\n", grow(4));
	return 0;
}
