/* setenv, putenv, clearenv and an environ of its own: what children get is what the program made of it.
 *
 * expect: ONE=1
 * expect: TWO=2
 * expect: own array: THREE=3
 * expect: cleared: 0
 */
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>
#include "check.h"

extern char **environ;

static void print_child(const char *prefix)
{
	fflush(stdout);
	pid_t pid = fork();
	if (!pid) {
		execl("/proc/self/exe", "program", prefix, (char *)NULL);
		_exit(98);
	}
	waitpid(pid, NULL, 0);
}

int main(int count, char **arguments)
{
	static char *own[] = { "THREE=3", NULL };
	int variables = 0;

	if (count == 2) {
		for (char **v = environ; *v; v++, variables++)
			if (!strncmp(*v, "ONE=", 4) || !strncmp(*v, "TWO=", 4) || !strncmp(*v, "THREE=", 6))
				printf("%s%s\n", arguments[1], *v);
		if (*arguments[1] == 'c')
			printf("%s%d\n", arguments[1], variables);
		return 0;
	}
	setenv("ONE", "1", 1);
	putenv("TWO=2");
	print_child("");
	environ = own;
	print_child("own array: ");
	clearenv();
	print_child("cleared: ");
	return 0;
}
