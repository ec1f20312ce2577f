/* wait() sees the program's own children only: no helper of the tracer's, none before, none left over.
 *
 * expect: ECHILD at start, one child 6, ECHILD at end
 */
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

int main(void)
{
	int status, first, last;

	first = wait(&status) == -1 && errno == ECHILD;
	if (!fork())
		_exit(6);
	wait(&status);
	last = waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD;
	printf("%s at start, one child %d, %s at end\n", first ? "ECHILD" : "?", WEXITSTATUS(status), last ? "ECHILD" : "?");
	return 0;
}
