/* A tracer inside the traced tree, as a debugger is: its child asks for it, stops and executes something. The tracer sees the
 * system calls and signals of its child, and not one of another.
 *
 * run: fork -> 0
 * run: vfork -> 0
 * run: syscall -> 0
 * run: refused -> 0
 * run: goes_on -> 0
 * run: seized -> 0
 * counts: kept
 * states: complete failed
 * storm: no
 * expect: system calls: all as made; signals: all as raised
 * expect: calls leaf 6000
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

#define OPTIONS (PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL)

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

static void count(void)
{
	for (int i = 0; i < 3000; i++)
		leaf(i);
}

/* Between two system calls that it is known by: calls of functions, one crash, no system call. */
static int child_work(void)
{
	volatile long n = 0;

	syscall(SYS_getppid);
	while (n < 6000)
		n = inside(n);
	syscall(SYS_getpgid, 0);
	*(volatile char *)8 = 1;
	return 3;
}

static void start(const char *how, char *program)
{
	if (!strcmp(how, "seized"))
		; /* its parent does it */
	else if (!strcmp(how, "syscall"))
		syscall(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0);
	else
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	syscall(SYS_kill, syscall(SYS_getpid), SIGSTOP);
	if (!strcmp(how, "goes_on"))
		_exit(child_work());
	execl(program, program, "child", NULL);
	_exit(9);
}

/* From the stop on: which system calls it began, which signals stopped it, until its end. */
static void follow(pid_t pid, const char *how)
{
	long calls[16] = { 0 }, wanted[] = { SYS_execve, SYS_getppid, SYS_getpgid };
	int status, entered = 0, count = 0, faults = 0, first = !strcmp(how, "goes_on"), marked = first;

	CHECK(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	if (!strcmp(how, "seized")) { /* what is executed is as ever; before, a tracer may see more than the child's own */
		CHECK(!ptrace(PTRACE_SEIZE, pid, NULL, OPTIONS) && waitpid(pid, &status, 0) == pid && !kill(pid, SIGCONT));
		calls[count++] = SYS_execve;
	} else {
		CHECK(!ptrace(PTRACE_SETOPTIONS, pid, NULL, OPTIONS));
	}
	long deliver = 0;
	for (;;) {
		CHECK(!ptrace(PTRACE_SYSCALL, pid, NULL, deliver));
		CHECK(waitpid(pid, &status, 0) == pid);
		deliver = 0;
		if (!WIFSTOPPED(status))
			break;
		if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
			struct user_regs_struct registers;

			CHECK(!ptrace(PTRACE_GETREGS, pid, NULL, &registers));
			entered = !entered;
			/* The loader makes its own after the exec. */
			marked |= (long)registers.orig_rax == SYS_getppid;
			if (entered && (!count || marked) && (long)registers.orig_rax != SYS_kill && count < 16)
				calls[count++] = registers.orig_rax;
		} else if (WSTOPSIG(status) == SIGTRAP) {
			CHECK(status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8) || status >> 16 == PTRACE_EVENT_STOP);
		} else {
			faults += WSTOPSIG(status) == SIGSEGV;
			deliver = WSTOPSIG(status);
			CHECK(deliver == SIGSEGV || (deliver == SIGCONT && !strcmp(how, "seized")));
		}
	}
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV && faults == 1);
	for (int i = 0; i < count; i++)
		if (first + i >= 3 || calls[i] != wanted[first + i])
			fprintf(stderr, "system call %ld, number %d\n", calls[i], i), _exit(98);
	CHECK(first + count == 3);
}

int main(int argc, char **argv)
{
	const char *how = argv[1];
	pid_t pid;

	if (!strcmp(how, "child"))
		return child_work();
	count();
	if (!strcmp(how, "vfork")) {
		pid = vfork(); /* which returns when the child has executed: nobody would let it go on from a stop */
		if (!pid) {
			ptrace(PTRACE_TRACEME, 0, NULL, NULL);
			execl(argv[0], argv[0], "child", NULL);
			_exit(9);
		}
		int status, faults = 0;
		CHECK(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
		do {
			CHECK(!ptrace(PTRACE_CONT, pid, NULL, WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status)));
			CHECK(waitpid(pid, &status, 0) == pid);
			faults += WIFSTOPPED(status);
		} while (WIFSTOPPED(status));
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV && faults == 1);
	} else if (!strcmp(how, "refused")) {
		pid = fork();
		if (!pid) {
			CHECK(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
			CHECK(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == -1 && errno == EPERM);
			_exit(7);
		}
		int status;
		CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 7);
	} else {
		pid = fork();
		if (!pid)
			start(how, argv[0]);
		follow(pid, how);
	}
	count();
	printf("system calls: all as made; signals: all as raised\ncalls leaf %d\n", 6000);
	return 0;
}
