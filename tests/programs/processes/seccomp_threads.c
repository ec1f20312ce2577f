/* A filter for all threads at once (SECCOMP_FILTER_FLAG_TSYNC), which kills for any system call but a few, while other threads
 * record: what a tracer is in the midst of on these must not be the end of them.
 *
 * flags: -pthread
 * compilers: gcc
 * run: -> 0
 * expect: all filtered
 * states: complete failed
 * threads: open
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

#define ALLOW(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define PROCESSES 6
#define THREADS 4

static struct sock_filter narrow[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)), ALLOW(exit_group),
				       ALLOW(rt_sigreturn), ALLOW(seccomp), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS) };

static volatile long rounds[THREADS];
static long (*volatile by_jit)(long (*)(long), long); /* each such call is a tracer's slow path */

NOINLINE static long leaf(long n)
{
	BARRIER;
	return n + 1;
}

static void *spin(void *argument)
{
	volatile long *own = argument;

	while (by_jit(leaf, 1))
		(*own)++;
	return NULL;
}

/* Of whatever thread installs it: all the others went on under it for a while. */
static void filtered(void)
{
	struct sock_fprog program = { sizeof narrow / sizeof *narrow, narrow };
	long before[THREADS];

	CHECK(!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program));
	for (int i = 0; i < THREADS; i++)
		before[i] = rounds[i];
	for (int i = 0; i < THREADS; i++)
		while (rounds[i] < before[i] + 50)
			;
	syscall(SYS_exit_group, 7);
}

static void child(int number)
{
	pthread_t thread;

	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&thread, NULL, spin, (void *)&rounds[i]));
	for (int i = 0; i < THREADS; i++)
		while (rounds[i] < 100 + number)
			by_jit(leaf, i);
	filtered();
}

int main(void)
{
	/* sub $8,%rsp; mov %rdi,%rax; mov %rsi,%rdi; call *%rax; add $8,%rsp; ret */
	static const unsigned char code[] = {
		0x48, 0x83, 0xec, 8, 0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0xff, 0xd0, 0x48, 0x83, 0xc4, 8, 0xc3
	};
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int status, good = 0;

	memcpy(page, code, sizeof code);
	mprotect(page, 4096, PROT_READ | PROT_EXEC);
	by_jit = (long (*)(long (*)(long), long))page;
	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	for (int i = 0; i < PROCESSES; i++) {
		pid_t pid = fork();

		if (!pid)
			child(i);
		CHECK(waitpid(pid, &status, 0) == pid);
		good += WIFEXITED(status) && WEXITSTATUS(status) == 7;
	}
	if (good == PROCESSES)
		printf("all filtered\n");
	else
		printf("%d of %d\n", good, PROCESSES);
	return 0;
}
