/* chroot into an empty directory: the agent can open nothing any more, and forks and new threads still work.
 *
 * flags: -pthread
 * needs: root
 * expect: child 11, thread 11
 */
#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

NOINLINE static int work(int depth)
{
	int n = depth ? work(depth - 1) : 0;

	BARRIER;
	return n + 1;
}
static void *body(void *unused)
{
	return (void *)(long)work(10);
}

int main(void)
{
	pthread_t thread;
	void *result;
	int status;

	CHECK((!mkdir("empty", 0755) || errno == EEXIST) && !chroot("empty") && !chdir("/"));
	pid_t pid = fork();
	if (!pid)
		_exit(work(10));
	CHECK(waitpid(pid, &status, 0) == pid);
	pthread_create(&thread, NULL, body, NULL);
	pthread_join(thread, &result);
	printf("child %d, thread %ld\n", WEXITSTATUS(status), (long)result);
	return 0;
}
