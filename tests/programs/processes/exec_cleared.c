/* Programs started with a cleared environment, by execve, execle, execvpe, fexecve and a shell's `env -i`.
 *
 * expect: execve 0 variables
 * expect: execle 0 variables
 * expect: fexecve 0 variables
 * expect: execvpe 0 variables
 * expect: env -i 0 variables
 * expect: one 1 variables
 */
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

extern char **environ;
static char *empty[] = { NULL }, *one[] = { "ONE=1", NULL };

static void say(const char *name)
{
	int variables = 0;

	while (environ[variables])
		variables++;
	printf("%s %d variables\n", name, variables);
}

NOINLINE static void start(char *self, int which)
{
	char *names[] = { "execve", "execle", "fexecve", "execvpe", "env -i", "one" };
	char *arguments[] = { self, names[which], NULL };

	switch (which) {
	case 0: execve(self, arguments, empty); break;
	case 1: execle(self, self, names[which], (char *)NULL, empty); break;
	case 2: fexecve(open(self, O_RDONLY | O_CLOEXEC), arguments, empty); break;
	case 3: execvpe(self, arguments, empty); break;
	case 4: execl("/usr/bin/env", "env", "-i", self, names[which], (char *)NULL); break;
	case 5: execve(self, arguments, one); break;
	}
	_exit(98);
}

int main(int count, char **arguments)
{
	if (count == 2) {
		say(arguments[1]);
		return 0;
	}
	for (int i = 0; i < 6; i++) {
		int status;
		pid_t pid = fork();

		if (!pid)
			start(arguments[0], i);
		waitpid(pid, &status, 0);
		CHECK(status == 0);
	}
	return 0;
}
