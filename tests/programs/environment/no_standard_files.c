/* Started with 0, 1 and 2 closed, a program's first open gives 0: nothing of the tracer's may have taken it.
 *
 * expect: opened 0 1 2
 */
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

int main(int count, char **arguments)
{
	int status;

	if (count == 2) {
		int a = open("/dev/null", O_RDWR), b = open("/dev/null", O_RDWR), c = open("/dev/null", O_RDWR);

		return a == 0 && b == 1 && c == 2 ? 42 : a * 9 + b * 3 + c;
	}
	pid_t pid = fork();
	if (!pid) {
		close(0);
		close(1);
		close(2);
		execl("/proc/self/exe", arguments[0], "bare", (char *)NULL);
		_exit(98);
	}
	waitpid(pid, &status, 0);
	puts(WEXITSTATUS(status) == 42 ? "opened 0 1 2" : "others were taken");
	return 0;
}
