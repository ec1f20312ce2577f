/* Many children that execute their own program at once. Its text lies where it lay before, so what is known of the old image's hooks seems
 * to fit the new one: nobody may write it there.
 *
 * counts: yes
 * threads: open
 * expect: 100 images
 * expect: calls leaf 10100
 * expect: calls executed 100000
 */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

#define ROUNDS 100

NOINLINE long leaf(long n)
{
	BARRIER;
	return n + 1;
}

NOINLINE long executed(long n)
{
	BARRIER;
	return n + 1;
}

static int image(void)
{
	long sum = 0;

	for (int i = 0; i < 1000; i++)
		sum += executed(i);
	return sum == 500500 ? 7 : 1;
}

int main(int argc, char **argv)
{
	int status;

	if (argc == 2 && !strcmp(argv[1], "image"))
		return image();
	for (int i = 0; i < ROUNDS; i++) {
		pid_t pid;

		for (int j = 0; j < 100; j++)
			leaf(j);
		pid = fork();
		if (!pid) {
			leaf(0);
			execl("/proc/self/exe", "program", "image", (char *)NULL);
			_exit(9);
		}
		CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 7);
	}
	printf("%d images\ncalls leaf %d\ncalls executed %d\n", ROUNDS, ROUNDS * 100 + ROUNDS, ROUNDS * 1000);
	return 0;
}
