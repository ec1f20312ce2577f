/* A tracer that attaches in the midst of it, as a debugger does: of the signal that its child dies of it sees one stop, and no
 * thread that the child did not make.
 *
 * trace: --trigger signal=SIGTERM
 * flags: -pthread
 * compilers: gcc
 * run: fault -> 0
 * run: abort -> 0
 * run: trap -> 0
 * run: sent -> 0
 * run: term -> 0
 * run: thread -> 0
 * run: swallowed -> 0
 * threads: open
 * expect: one stop
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

#define OPTIONS (PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEVFORKDONE | PTRACE_O_EXITKILL)

static int to_tracer[2], to_child[2];
static const char *how;

NOINLINE static long leaf(long n)
{
	BARRIER;
	return n + 1;
}

static long work(void)
{
	long n = 0;

	while (n < 3000)
		n = leaf(n);
	return n;
}

static void *child_work(void *unused)
{
	pid_t tid = syscall(SYS_gettid);
	char byte;

	CHECK(work() == 3000 && write(to_tracer[1], &tid, sizeof tid) == sizeof tid && read(to_child[0], &byte, 1) == 1);
	if (!strcmp(how, "abort"))
		abort();
	else if (!strcmp(how, "trap"))
		__asm__ volatile("int3");
	else if (!strcmp(how, "fault") || !strcmp(how, "thread"))
		*(volatile char *)8 = 1;
	for (;;)
		pause();
}

static int expected(void)
{
	return !strcmp(how, "abort")				 ? SIGABRT :
	       !strcmp(how, "trap")				 ? SIGTRAP :
	       !strcmp(how, "term")				 ? SIGTERM :
	       !strcmp(how, "sent") || !strcmp(how, "swallowed") ? SIGBUS :
								   SIGSEGV;
}

/* Whatever is sent to it, until its end: how many stops of signals there were. */
static int follow(pid_t pid, pid_t tid)
{
	int stops = 0, status, delivered = 0;
	bool swallowing = !strcmp(how, "swallowed");

	for (;;) {
		pid_t from = waitpid(-1, &status, __WALL);

		CHECK(from == pid || from == tid);
		if (!WIFSTOPPED(status) && from == pid)
			break;
		if (!WIFSTOPPED(status))
			continue;
		CHECK(!(status >> 16)); /* no event */
		stops++;
		delivered = WSTOPSIG(status);
		CHECK(delivered == expected());
		if (swallowing) { /* the first time it does not come to the child */
			swallowing = false;
			CHECK(!kill(pid, delivered));
			stops--;
			delivered = 0;
		}
		CHECK(!ptrace(PTRACE_CONT, from, NULL, delivered));
	}
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == expected());
	return stops;
}

int main(int argc, char **argv)
{
	bool in_thread = !strcmp(how = argv[1], "thread");
	pid_t pid, tid;
	int stops;

	CHECK(!pipe(to_tracer) && !pipe(to_child));
	pid = fork();
	if (!pid) {
		pthread_t thread;

		if (!in_thread)
			child_work(NULL);
		CHECK(!pthread_create(&thread, NULL, child_work, NULL));
		for (;;)
			pause();
	}
	CHECK(read(to_tracer[0], &tid, sizeof tid) == sizeof tid && (tid == pid) == !in_thread);
	CHECK(!ptrace(PTRACE_SEIZE, pid, NULL, OPTIONS));
	CHECK(!in_thread || !ptrace(PTRACE_SEIZE, tid, NULL, OPTIONS));
	CHECK(write(to_child[1], "x", 1) == 1);
	if (!strcmp(how, "term") || !strcmp(how, "sent") || !strcmp(how, "swallowed"))
		CHECK(!kill(pid, expected()));
	stops = follow(pid, tid);
	if (stops == 1)
		printf("one stop\n");
	else
		printf("%d stops\n", stops);
	return 0;
}
