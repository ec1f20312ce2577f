/* children HOW N [PROGRAM]: N children of forks, each of which calls leaf() once before anything else, but for the last way.
 *   turn, chain, crowd   one behind the other; each the last one's child; all at once, held until the last one is there
 *   exec                 in turn, and each executes PROGRAM then
 *   various              in turn, and child i calls leaf() i times from its first thread and as often from each of i % 3 more; each thread of
 *                        every fifth child 3,000 times more
 * children stay FILE: one child, which makes FILE behind its call of leaf() and waits for a signal then
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static int leaf(int number)
{
	__asm__ volatile("" : "+r"(number));
	return number;
}

static int chain(int left)
{
	pid_t child;
	int status;

	if (!left)
		return 0;
	child = fork();
	if (!child) {
		leaf(left);
		_exit(chain(left - 1));
	}
	return child > 0 && waitpid(child, &status, 0) == child && !status ? 0 : 1;
}

static void *leaves(void *number)
{
	int count = *(int *)number;

	for (int i = 0; i < count + (count % 5 ? 0 : 3000); i++)
		leaf(i);
	return NULL;
}

static int various(int count)
{
	int status, failed = 0;

	for (int i = 1; i <= count; i++) {
		pid_t child = fork();

		if (!child) {
			pthread_t threads[2];

			leaves(&i);
			for (int t = 0; t < i % 3; t++)
				pthread_create(&threads[t], NULL, leaves, &i);
			for (int t = 0; t < i % 3; t++)
				pthread_join(threads[t], NULL);
			_exit(i);
		}
		failed |= waitpid(child, &status, 0) != child || WEXITSTATUS(status) != i;
	}
	return failed;
}

static int turn(int count, char *program)
{
	char *const arguments[] = { program, NULL };
	int status, failed = 0;

	for (int i = 0; i < count; i++) {
		pid_t child = fork();

		if (!child) {
			leaf(i);
			if (program)
				execv(program, arguments);
			_exit(program ? 1 : 0);
		}
		failed |= waitpid(child, &status, 0) != child || status;
	}
	return failed;
}

static int crowd(int count)
{
	int gate[2], status, failed = 0;
	char byte;

	if (pipe(gate))
		return 1;
	for (int i = 0; i < count; i++)
		if (!fork()) {
			leaf(i);
			close(gate[1]);
			_exit(read(gate[0], &byte, 1) != 0);
		}
	close(gate[1]);
	while (wait(&status) > 0)
		failed |= status;
	return failed;
}

static int stay(const char *file)
{
	if (!fork()) {
		leaf(1);
		close(open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
		pause();
		_exit(0);
	}
	return wait(NULL) < 0;
}

int main(int argc, char **argv)
{
	int count = argc > 2 ? atoi(argv[2]) : 0;

	if (argc < 3)
		return 2;
	if (!strcmp(argv[1], "various"))
		return various(count);
	if (!strcmp(argv[1], "stay"))
		return stay(argv[2]);
	return !strcmp(argv[1], "chain") ? chain(count) : !strcmp(argv[1], "crowd") ? crowd(count) : turn(count, argv[3]);
}
