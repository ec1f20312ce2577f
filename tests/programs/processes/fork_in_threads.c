/* fork in a thread while others call hooked functions all the time: the child has one thread and no one else's locks.
 *
 * flags: -pthread
 * expect: children 20, handlers 1
 */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

static volatile int stop, prepared, in_child;
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
static void prepare(void)
{
	leaf(1);
	prepared++;
}
static void child(void)
{
	leaf(2);
	in_child = 1;
}
static void *child_body(void *unused)
{
	return (void *)leaf(41);
}

static void *forker(void *unused)
{
	long children = 0;

	for (int i = 0; i < 20; i++) {
		int status;
		pid_t pid = fork();

		if (!pid) {
			pthread_t thread;
			void *result;

			CHECK(in_child);
			pthread_create(&thread, NULL, child_body, NULL);
			pthread_join(thread, &result);
			_exit((long)result);
		}
		waitpid(pid, &status, 0);
		children += WIFEXITED(status) && WEXITSTATUS(status) == 42;
	}
	return (void *)children;
}

int main(void)
{
	pthread_t threads[3];
	void *children;

	pthread_atfork(prepare, NULL, child);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, spin, NULL);
	pthread_create(&threads[2], NULL, forker, NULL);
	pthread_join(threads[2], &children);
	stop = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("children %ld, handlers %d\n", (long)children, prepared == 20);
	return 0;
}
