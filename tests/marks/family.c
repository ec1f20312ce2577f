/* A process, its child, and a program that a child becomes: each calls answer() a number of times that is its own, and the first
 * two take a signal that a rule names. Prints what the program sees of its handlers. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noipa)) static int answer(int n)
{
	return n + 1;
}
static volatile sig_atomic_t took;
static void take(int number)
{
	took += number == SIGUSR1;
}

int main(int count, char **arguments)
{
	char *again[] = { arguments[0], "again", NULL };
	struct sigaction now;
	int sum = 0, status;

	if (count > 1) {
		sigaction(SIGUSR1, NULL, &now);
		return answer(answer(0)) != 2 || now.sa_handler != SIG_DFL;
	}
	signal(SIGUSR1, take);
	raise(SIGUSR1);
	for (int i = 0; i < 3; i++)
		sum = answer(sum);
	pid_t child = fork();
	if (!child) {
		for (int i = 0; i < 5; i++)
			sum = answer(sum);
		sigaction(SIGUSR1, NULL, &now);
		raise(SIGUSR1);
		_exit(sum + 10 * took + 100 * (now.sa_handler == take));
	}
	waitpid(child, &status, 0);
	printf("%d %d\n", took, WEXITSTATUS(status));
	fflush(stdout);
	child = vfork();
	if (!child) {
		execv(arguments[0], again);
		_exit(9);
	}
	waitpid(child, &status, 0);
	return status;
}
