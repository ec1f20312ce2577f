/* starter HOW ARGUMENT...: becomes, or starts, programs whose number is known, some of which take no agent in. */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static void check(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	_exit(99);
}

static pid_t spawn(char *program)
{
	char *arguments[] = { program, NULL };
	pid_t pid;

	check(!posix_spawn(&pid, program, NULL, NULL, arguments, environ), program);
	return pid;
}

/* chain N: this program N times again, one after another, in one process. */
static void chain(char **arguments)
{
	char number[16];
	int left = atoi(arguments[0]);

	snprintf(number, sizeof number, "%d", left - 1);
	if (left)
		check(execl("/proc/self/exe", "starter", "chain", number, (char *)NULL), "exec");
}

/* spawn N LIVE PROGRAM: N children, so many at a time. */
static void spawns(char **arguments)
{
	for (int i = 0, live = 0; i < atoi(arguments[0]); i++, live++) {
		if (live == atoi(arguments[1])) {
			check(wait(NULL) > 0, "wait");
			live--;
		}
		spawn(arguments[2]);
	}
}

/* kill N PROGRAM: each is killed so many microseconds after its exec. */
static void kills(char **arguments)
{
	for (int i = 0; i < atoi(arguments[0]); i++) {
		pid_t pid = spawn(arguments[1]);

		nanosleep(&(struct timespec){ .tv_nsec = i * 20000 }, NULL);
		check(!kill(pid, SIGKILL), "kill");
		check(waitpid(pid, NULL, 0) == pid, "wait");
	}
}

/* exec PROGRAM */
static void becomes(char **arguments)
{
	check(execl(arguments[0], arguments[0], (char *)NULL), "exec");
}

/* raw PROGRAM: the same by syscall(). */
static void becomes_raw(char **arguments)
{
	check((int)syscall(SYS_execve, arguments[0], arguments, environ), "exec");
}

/* failing N: execs that the kernel refuses, here and in vfork children, more than the agent's table holds. */
static void failing(char **arguments)
{
	for (volatile int i = 0; i < atoi(arguments[0]); i++) {
		execl("/no/such/program", "program", (char *)NULL);
		execl("/etc/passwd", "passwd", (char *)NULL);
		pid_t pid = vfork();
		if (!pid) {
			execl("/no/such/program", "program", (char *)NULL);
			_exit(0);
		}
		check(waitpid(pid, NULL, 0) == pid, "wait");
	}
}

static void fork_one(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	check(pid > 0 && waitpid(pid, NULL, 0) == pid, "fork");
}

/* files: a child that may open none. */
static void files(char **arguments)
{
	check(!setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 3, 3 }), "setrlimit");
	fork_one();
}

static void *meet_twice(void *barrier)
{
	pthread_barrier_wait(barrier);
	pthread_barrier_wait(barrier);
	return NULL;
}

/* crowd N: N threads that end together; a child while they live, and one behind them. */
static void crowd(char **arguments)
{
	int count = atoi(arguments[0]);
	pthread_t threads[count];
	pthread_barrier_t barrier;

	pthread_barrier_init(&barrier, NULL, (unsigned)count + 1);
	for (int i = 0; i < count; i++)
		check(!pthread_create(&threads[i], NULL, meet_twice, &barrier), "pthread_create");
	pthread_barrier_wait(&barrier);
	fork_one();
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	fork_one();
}

/* counter: a child of a process that may not read the time stamp counter. */
static void counter(char **arguments)
{
	check(!prctl(PR_SET_TSC, PR_TSC_SIGSEGV), "prctl");
	fork_one();
}

/* confined PROGRAM: becomes it under a filter that allows all. */
static void confined(char **arguments)
{
	struct sock_filter all = BPF_STMT(BPF_RET, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { 1, &all };

	check(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), "seccomp");
	becomes(arguments);
}

/* root DIRECTORY PROGRAM: becomes it, behind chroot. */
static void root(char **arguments)
{
	check(!chroot(arguments[0]) && !chdir("/"), "chroot");
	becomes(arguments + 1);
}

/* away DIRECTORY: a child that neither the path nor the abstract name of a socket leads out of. */
static void away(char **arguments)
{
	check(!unshare(CLONE_NEWNET) && !chroot(arguments[0]) && !chdir("/"), "unshare");
	fork_one();
}

/* user PROGRAM: becomes it as another user than it runs for. */
static void user(char **arguments)
{
	check(!setresuid(0, 65534, 0), "setresuid");
	becomes(arguments);
}

/* traced PROGRAM: a child that becomes it under its parent's eyes. */
static void traced(char **arguments)
{
	pid_t pid = fork();

	if (!pid) {
		check(!ptrace(PTRACE_TRACEME, 0, NULL, NULL), "ptrace");
		becomes(arguments);
	}
	int status;
	check(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status), "stop");
	check(!ptrace(PTRACE_CONT, pid, NULL, NULL) && waitpid(pid, &status, 0) == pid && !status, "end");
}

int main(int count, char **arguments)
{
	static const struct {
		const char *name;
		void (*run)(char **arguments);
	} all[] = { { "chain", chain },	    { "spawn", spawns }, { "kill", kills },  { "exec", becomes },    { "raw", becomes_raw },
		    { "failing", failing }, { "files", files },	 { "crowd", crowd }, { "counter", counter }, { "confined", confined },
		    { "root", root },	    { "away", away },	 { "user", user },   { "traced", traced } };

	for (size_t i = 0; count > 1 && i < sizeof all / sizeof *all; i++)
		if (!strcmp(arguments[1], all[i].name)) {
			all[i].run(arguments + 2);
			while (wait(NULL) > 0)
				;
			return 0;
		}
	return 98;
}
