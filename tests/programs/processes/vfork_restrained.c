/* A vfork child that restrains itself: it lives in its parent's memory, and nothing of that is true of the parent, which goes on
 * to be recorded, with its threads, its children and what they execute. The child is killed for any other system call.
 *
 * flags: -pthread
 * run: filter -> 0
 * run: syscall -> 0
 * run: strict -> 0
 * run: counter -> 0
 * run: dies -> 0
 * run: allowed -> 0
 * run: executes -> 0
 * counts: kept
 * expect: child done, parent done
 * expect: calls leaf 12000
 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

#define ALLOW(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static struct sock_filter narrow[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)), ALLOW(write), ALLOW(exit),
				       ALLOW(exit_group), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS) };
static struct sock_filter all[] = { BPF_STMT(BPF_RET, SECCOMP_RET_ALLOW) };

NOINLINE long leaf(long n)
{
	BARRIER;
	return n + 1;
}
NOINLINE static long inside(long n)
{
	BARRIER;
	return n + 1;
}
NOINLINE static long other(long n)
{
	BARRIER;
	return inside(n) + 1;
}

static void *body(void *unused)
{
	for (int i = 0; i < 3000; i++)
		leaf(i);
	return NULL;
}

/* In the child: enough calls for a new chunk, of functions not called before. */
NOINLINE static void child(const char *how)
{
	struct sock_fprog program = { sizeof narrow / sizeof *narrow, narrow };
	volatile long n = 0;

	if (!strcmp(how, "executes") || !strcmp(how, "allowed"))
		program = (struct sock_fprog){ 1, all };
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (!strcmp(how, "strict"))
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	else if (!strcmp(how, "counter"))
		prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
	else if (!strcmp(how, "syscall"))
		syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
	else
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
	while (n < 6000)
		n = other(n);
	if (!strcmp(how, "executes"))
		execl("/bin/true", "true", NULL);
	if (!strcmp(how, "dies"))
		syscall(SYS_getppid);
	syscall(SYS_exit, n == 6000 ? 7 : 8);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int status;

	body(NULL);
	pid_t pid = vfork();
	if (!pid)
		child(argv[1]);
	CHECK(waitpid(pid, &status, 0) == pid);
	if (!strcmp(argv[1], "dies"))
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
	else
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == (strcmp(argv[1], "executes") ? 7 : 0));
	body(NULL);
	CHECK(!pthread_create(&thread, NULL, body, NULL) && !pthread_join(thread, NULL));
	pid = fork();
	if (!pid)
		_exit(body(NULL) != NULL);
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	printf("child done, parent done\ncalls leaf %d\n", 12000);
	return 0;
}
