/* Filters of the program's own that kill for any system call but a few: those of a tracer's slow paths among them, in the
 * process, in a child made past libc, and where it crashes. A filter that leaves a tracer what it needs is no reason to stop.
 *
 * run: prctl -> 0
 * run: syscall -> 0
 * run: crash -> -11
 * run: wide -> 0
 * expect: sum 20000 child 7
 * states: complete failed
 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

#define ALLOW(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static struct sock_filter narrow[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
				       ALLOW(read),
				       ALLOW(write),
				       ALLOW(fork),
				       ALLOW(wait4),
				       ALLOW(exit),
				       ALLOW(exit_group),
				       ALLOW(rt_sigreturn),
				       BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS) };
static struct sock_filter wide[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 1),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

NOINLINE static long leaf(long n)
{
	BARRIER;
	return n + 1;
}
NOINLINE static long other(long n)
{
	BARRIER;
	return leaf(n) - 1;
}

static long count(long times)
{
	long n = 0;

	while (n < times)
		n = leaf(other(n));
	return n;
}

int main(int argc, char **argv)
{
	const char *how = argv[1];
	struct sock_fprog program = { sizeof narrow / sizeof *narrow, narrow };
	char line[64];
	int status;

	if (!strcmp(how, "wide"))
		program = (struct sock_fprog){ sizeof wide / sizeof *wide, wide };
	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	if (!strcmp(how, "prctl"))
		CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
	else
		CHECK(!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
	long sum = count(20000), child = syscall(SYS_fork);
	if (!child)
		syscall(SYS_exit_group, count(3000) == 3000 ? 7 : 8);
	CHECK(syscall(SYS_wait4, child, &status, 0, NULL) == child && WIFEXITED(status));
	int length = snprintf(line, sizeof line, "sum %ld child %d\n", sum, WEXITSTATUS(status));
	CHECK(write(1, line, length) == length);
	if (!strcmp(how, "crash"))
		*(volatile char *)8 = 1;
	return 0;
}
