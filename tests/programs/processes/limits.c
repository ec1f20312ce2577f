/* Hardly any file descriptors, no new processes, a small address space: limits hit the program, not because of a tracer.
 *
 * flags: -pthread
 * expect: opened 4, then 24
 * expect: fork refused 11
 * expect: worked 101
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>
#include "check.h"

NOINLINE static int work(int depth)
{
	int n = depth ? work(depth - 1) : 0;

	BARRIER;
	return n + 1;
}

int main(void)
{
	struct rlimit files = { 7, 7 };
	int opened = 0;

	closefrom(3);
	CHECK(!setrlimit(RLIMIT_NOFILE, &files));
	while (open("/dev/null", O_RDONLY) >= 0)
		opened++;
	printf("opened %d, then %d\n", opened, errno);
	if (geteuid() == 0) {
		CHECK(!setgid(65533) && !setuid(65533));
	}
	struct rlimit processes = { 0, 0 };
	CHECK(!setrlimit(RLIMIT_NPROC, &processes));
	pid_t pid = fork();
	printf("fork %s %d\n", pid < 0 ? "refused" : "allowed", errno);
	printf("worked %d\n", work(100));
	return 0;
}
