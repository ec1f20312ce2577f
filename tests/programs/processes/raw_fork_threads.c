/* A raw fork and _Fork while other threads record: the child finds the agent's locks as they were at that moment.
 *
 * flags: -pthread
 * expect: 40 children
 */
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

static volatile int stop;
NOINLINE static long leaf(long n)
{
	BARRIER;
	return n + 1;
}
static void *spin(void *unused)
{
	for (long n = 0; !stop;)
		n = leaf(n);
	return NULL;
}
NOINLINE static int work(int depth)
{
	int n = depth ? work(depth - 1) : 0;

	BARRIER;
	return n + 1;
}

int main(void)
{
	pthread_t threads[2];
	int good = 0;

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, spin, NULL);
	for (int i = 0; i < 40; i++) {
		int status;
		pid_t pid = i & 1 ? syscall(SYS_fork) : _Fork();

		if (!pid)
			_exit(work(30));
		CHECK(waitpid(pid, &status, 0) == pid);
		good += WIFEXITED(status) && WEXITSTATUS(status) == 31;
	}
	stop = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%d children\n", good);
	return 0;
}
