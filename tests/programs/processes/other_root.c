/* Processes that have left their root or their user behind, and with them the paths of what records them: what they fork and
 * execute is recorded all the same, where there is /proc to hand it over; and nobody's stderr has a word of it.
 *
 * needs: root mount
 * run: chroot -> 0
 * run: pivot -> 0
 * run: user -> 0
 * run: chroot user -> 0
 * run: chroot vfork -> 0
 * run: chroot closes -> 0
 * run: namespaces -> 0
 * counts: yes
 * threads: open
 * expect: executed: 0 files open
 * expect: calls leaf 5000
 * expect: calls executed 1000
 */
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "root.h"

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

static void count(int times)
{
	for (int i = 0; i < times; i++)
		leaf(i);
}

static int has(char **argv, const char *word)
{
	for (; *argv; argv++)
		if (!strcmp(*argv, word))
			return 1;
	return 0;
}

/* In the image: how many descriptors it has beside the standard ones. */
static int image(void)
{
	int open_files = 0;

	for (int i = 0; i < 1000; i++)
		executed(i);
	for (int fd = 3; fd < 64; fd++)
		open_files += fcntl(fd, F_GETFD) != -1;
	printf("executed: %d files open\n", open_files);
	return 0;
}

static void leave(char **argv)
{
	if (has(argv, "namespaces"))
		CHECK(!unshare(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC));
	if (has(argv, "chroot") || has(argv, "pivot")) {
		CHECK(!unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_PRIVATE | MS_REC, NULL));
		CHECK(!mount("root", "root", NULL, MS_BIND, NULL) && !mount("proc", "root/proc", "proc", 0, NULL));
	}
	if (has(argv, "pivot"))
		CHECK(!chdir("root") && !syscall(SYS_pivot_root, ".", "old") && !chdir("/") && !umount2("old", MNT_DETACH));
	else if (has(argv, "chroot"))
		CHECK(!chroot("root") && !chdir("/"));
	if (has(argv, "user"))
		CHECK(!setgroups(0, NULL) && !setgid(65534) && !setuid(65534));
}

int main(int argc, char **argv)
{
	int status;
	pid_t pid;

	if (has(argv, "image"))
		return image();
	root_make();
	count(1000);
	leave(argv);
	const char *program = has(argv, "chroot") || has(argv, "pivot") ? "/program" : "/proc/self/exe";
	count(1000);
	pid = fork();
	if (!pid) {
		count(2000);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	pid = has(argv, "vfork") ? vfork() : fork();
	if (!pid) {
		if (has(argv, "closes"))
			CHECK(!close_range(3, ~0u, 0));
		execl(program, "program", "image", (char *)NULL);
		_exit(9);
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	count(1000);
	printf("calls leaf %d\ncalls executed %d\n", 5000, 1000);
	return 0;
}
