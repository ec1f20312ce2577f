/* A thread execs: the others vanish mid-call, the process keeps its pid, and the program starts again.
 *
 * flags: -pthread
 * run: -> 5
 * expect: same process, second life
 */
#include <pthread.h>
#include <string.h>
#include <unistd.h>
#include "check.h"

NOINLINE static long leaf(long n)
{
	BARRIER;
	return n + 1;
}
static void *spin(void *unused)
{
	for (long n = 0;;)
		n = leaf(n);
}

static void *exec_self(void *program)
{
	char pid[16];

	snprintf(pid, sizeof pid, "%d", getpid());
	execl("/proc/self/exe", program, pid, (char *)NULL);
	_exit(98);
}

int main(int count, char **arguments)
{
	pthread_t thread;

	if (count == 2) {
		CHECK(atoi(arguments[1]) == getpid());
		CHECK(leaf(1) == 2);
		puts("same process, second life");
		return 5;
	}
	for (int i = 0; i < 3; i++)
		pthread_create(&thread, NULL, spin, NULL);
	pthread_create(&thread, NULL, exec_self, arguments[0]);
	for (;;)
		pause();
}
