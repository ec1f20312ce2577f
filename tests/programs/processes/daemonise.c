/* fork, setsid, fork, chdir, close everything: the daemon works on after its parent has gone, and is recorded to its end.
 *
 * expect: daemon says 21
 */
#include <fcntl.h>
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

static void daemon_body(int out)
{
	char text[32];

	CHECK(chdir("/") == 0);
	umask(077);
	for (int fd = 0; fd < 64; fd++)
		if (fd != out)
			close(fd);
	open("/dev/null", O_RDWR);
	dup(0);
	dup(0);
	int length = snprintf(text, sizeof text, "daemon says %d\n", work(20));
	CHECK(write(out, text, length) == length);
	_exit(0);
}

int main(void)
{
	int ends[2], status;
	char text[64] = "";

	CHECK(!pipe(ends));
	pid_t pid = fork();
	if (!pid) {
		setsid();
		if (fork())
			_exit(0);
		daemon_body(ends[1]);
	}
	close(ends[1]);
	waitpid(pid, &status, 0);
	while (read(ends[0], text, sizeof text - 1) > 0)
		printf("%s", text);
	return status;
}
