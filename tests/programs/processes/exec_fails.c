/* An exec that fails leaves the program as it was: environment, hooks and errno.
 *
 * expect: ENOENT 50, EACCES 50
 * expect: environment kept, calls go on 11
 */
#include <errno.h>
#include <unistd.h>
#include "check.h"

extern char **environ;
NOINLINE static int work(int depth)
{
	int n = depth ? work(depth - 1) : 0;

	BARRIER;
	return n + 1;
}

int main(void)
{
	int missing = 0, refused = 0, before = 0, after = 0;

	while (environ[before])
		before++;
	for (int i = 0; i < 50; i++) {
		execl("/no/such/program", "program", (char *)NULL);
		missing += errno == ENOENT;
		execl("/etc/passwd", "passwd", (char *)NULL);
		refused += errno == EACCES;
	}
	while (environ[after])
		after++;
	printf("ENOENT %d, EACCES %d\n", missing, refused);
	printf("environment %s, calls go on %d\n", before == after ? "kept" : "changed", work(10));
	return 0;
}
