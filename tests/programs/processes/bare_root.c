/* chroot to where there is no /proc, so that nothing can be handed over: what is executed there runs unrecorded, and its stderr has
 * no word of that. What is only forked is recorded.
 *
 * needs: root
 * run: fork -> 0
 * run: vfork -> 0
 * run: user -> 0
 * counts: yes
 * threads: open
 * expect: executed
 * expect: calls leaf 4000
 */
#include <grp.h>
#include <sys/wait.h>
#include "root.h"

NOINLINE long leaf(long n)
{
	BARRIER;
	return n + 1;
}
static void count(int times)
{
	for (int i = 0; i < times; i++)
		leaf(i);
}

int main(int argc, char **argv)
{
	int status;
	pid_t pid;

	if (!strcmp(argv[1], "image")) {
		printf("executed\n");
		return 0;
	}
	root_make();
	count(1000);
	CHECK(!chroot("root") && !chdir("/"));
	if (!strcmp(argv[1], "user"))
		CHECK(!setgroups(0, NULL) && !setgid(65534) && !setuid(65534));
	count(1000);
	pid = fork();
	if (!pid) {
		count(1000);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	pid = !strcmp(argv[1], "vfork") ? vfork() : fork();
	if (!pid) {
		execl("/program", "program", "image", (char *)NULL);
		_exit(9);
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	count(1000);
	printf("calls leaf %d\n", 4000);
	return 0;
}
