/* Closes every descriptor, opens its own at the same numbers and goes on: the tracer needs none of them.
 *
 * flags: -pthread
 * expect: opened 3 4 5, thread 11, child 11
 */
#include <fcntl.h>
#include <pthread.h>
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
	int status, opened[3];

	closefrom(3);
	for (int i = 0; i < 3; i++)
		opened[i] = open("/dev/null", O_RDONLY);
	work(10);
	pthread_create(&thread, NULL, body, NULL);
	pthread_join(thread, &result);
	pid_t pid = fork();
	if (!pid) {
		for (int fd = 3; fd < 256; fd++)
			close(fd);
		_exit(open("/dev/null", O_RDONLY) == 3 ? work(10) : 1);
	}
	waitpid(pid, &status, 0);
	printf("opened %d %d %d, thread %ld, child %d\n", opened[0], opened[1], opened[2], (long)result, WEXITSTATUS(status));
	return 0;
}
