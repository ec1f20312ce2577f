/* Questions about seccomp that the kernel answers with an error: what a program may try before it decides. Nothing is installed,
 * so all of it is recorded, and what it executes too.
 *
 * counts: yes
 * expect: prctl: no pointer 14, no filter 22, no length 22, no such mode 22, no argument 22
 * expect: seccomp: no pointer 14, no filter 14, flags 22, strict with flags 22, listener 14, all threads 14
 * expect: counter 22, dispatch 22 22
 * expect: calls leaf 11000
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "check.h"

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif

NOINLINE long leaf(long n)
{
	BARRIER;
	return n + 1;
}

/* The error of a call that must fail; and calls that must be recorded after it. */
NOINLINE static int failed(long result)
{
	int code = errno;

	CHECK(result == -1);
	for (int i = 0; i < 1000; i++)
		leaf(i);
	return code;
}

static int of_prctl(long mode, void *program)
{
	return failed(prctl(PR_SET_SECCOMP, mode, program, 0, 0));
}
static int of_seccomp(long what, long flags, void *program)
{
	return failed(syscall(SYS_seccomp, what, flags, program));
}

int main(void)
{
	struct sock_filter all = BPF_STMT(BPF_RET, SECCOMP_RET_ALLOW), odd = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 4096);
	struct sock_fprog empty = { 0, &all }, wrong = { 1, &odd }, nowhere = { 1, (void *)8 };

	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	int pointer = of_prctl(SECCOMP_MODE_FILTER, NULL), invalid = of_prctl(SECCOMP_MODE_FILTER, &wrong);
	int length = of_prctl(SECCOMP_MODE_FILTER, &empty), mode = of_prctl(7, &empty);
	printf("prctl: no pointer %d, no filter %d, no length %d, no such mode %d, no argument %d\n", pointer, invalid, length, mode,
	       of_prctl(0, NULL));
	pointer = of_seccomp(SECCOMP_SET_MODE_FILTER, 0, NULL);
	invalid = of_seccomp(SECCOMP_SET_MODE_FILTER, 0, &nowhere);
	int flags = failed(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 1 << 30, &wrong));
	int strict = failed(syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL));
	int listener = failed(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, NULL));
	printf("seccomp: no pointer %d, no filter %d, flags %d, strict with flags %d, listener %d, all threads %d\n", pointer, invalid,
	       flags, strict, listener, failed(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, NULL)));
	CHECK(prctl(PR_SET_TSC, 7, 0, 0, 0) == -1 && errno == EINVAL);
	int range = prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, 16, 0, 0) == -1 ? errno : 0;
	printf("counter %d, dispatch %d %d\n", 22, range, prctl(PR_SET_SYSCALL_USER_DISPATCH, 9, 0, 0, 0) == -1 ? errno : 0);
	printf("calls leaf %d\n", 11000);
	fflush(stdout);
	return 0;
}
