/* system() and popen(), both ways, with exit statuses; the shell's children are traced along.
 *
 * expect: from system
 * expect: status 3
 * expect: from popen
 * expect: 5
 * expect: closed 0 7
 */
#include <string.h>
#include <sys/wait.h>
#include "check.h"

NOINLINE static int status_of(const char *command)
{
	int status = system(command);

	BARRIER;
	return WEXITSTATUS(status);
}

int main(void)
{
	char line[64] = "";

	setbuf(stdout, NULL);
	CHECK(status_of("echo from system | cat") == 0);
	printf("status %d\n", status_of("exit 3"));
	FILE *in = popen("echo from popen", "r");
	CHECK(fgets(line, sizeof line, in));
	printf("%s", line);
	int closed = pclose(in);
	FILE *out = popen("wc -c", "w");
	fputs("four\n", out);
	CHECK(pclose(out) == 0);
	FILE *bad = popen("exit 7", "r");
	printf("closed %d %d\n", closed, WEXITSTATUS(pclose(bad)));
	return 0;
}
