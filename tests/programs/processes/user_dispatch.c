/* System calls that are dispatched to the program itself (PR_SET_SYSCALL_USER_DISPATCH), as emulators do it: its handler sees
 * those that it means to see, and no other, whatever is recorded meanwhile.
 *
 * flags: -pthread
 * run: selector -> 0
 * run: range -> 0
 * run: thread -> 0
 * run: crash -> -11
 * libs: -ldl
 * counts: kept
 * expect: 1 dispatched, 0 others, handled 1
 * expect: calls before 3000
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif
#define MAGIC 12345

static volatile char selector;
static volatile int dispatched, others, handled;

NOINLINE long before(long n)
{
	BARRIER;
	return n + 1;
}
NOINLINE long leaf(long n)
{
	BARRIER;
	return n + 1;
}
NOINLINE static long other(long n)
{
	BARRIER;
	return leaf(n) + 1;
}
NOINLINE static void in_handler(void)
{
	BARRIER;
	handled++;
}

static void on_dispatch(int number, siginfo_t *info, void *context)
{
	if (info->si_syscall == MAGIC) {
		dispatched++;
		in_handler(); /* called nowhere else: a slow path */
	} else {
		others++;
	}
	selector = 0;
}

static int find_libc(struct dl_phdr_info *info, size_t size, void *range)
{
	unsigned long *bounds = range;

	if (!strstr(info->dlpi_name, "libc.so"))
		return 0;
	bounds[0] = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD)
			bounds[1] = info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
	return 1;
}

NOINLINE static long count(void)
{
	volatile long n = 0;

	while (n < 6000)
		n = other(n);
	return n;
}

NOINLINE static void magic(void)
{
	long result = MAGIC;

	__asm__ volatile("syscall" : "+a"(result) : : "rcx", "r11", "memory");
}

static void *body(void *range)
{
	unsigned long *bounds = range;

	CHECK(!prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, bounds[0], bounds[1], bounds[1] ? NULL : &selector));
	selector = 1;
	count();
	magic();
	selector = 1;
	count();
	selector = 0;
	return NULL;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_sigaction = on_dispatch, .sa_flags = SA_SIGINFO };
	unsigned long range[2] = { 0, 0 };
	pthread_t thread;

	for (int i = 0; i < 3000; i++)
		before(i);
	CHECK(!sigaction(SIGSYS, &action, NULL));
	if (strcmp(argv[1], "selector"))
		CHECK(dl_iterate_phdr(find_libc, range) && range[1]);
	if (!strcmp(argv[1], "thread"))
		CHECK(!pthread_create(&thread, NULL, body, range) && !pthread_join(thread, NULL));
	else
		body(range);
	if (!range[1])
		CHECK(!prctl(PR_SET_SYSCALL_USER_DISPATCH, 0, 0, 0, 0));
	if (!strcmp(argv[1], "range")) { /* libc's own go through: they are in the range */
		int status;
		pid_t pid = fork();

		if (!pid)
			_exit(count() == 6000 && dlopen("libm.so.6", RTLD_NOW) ? 7 : 8);
		CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 7);
		pid = vfork();
		if (!pid) {
			execl("/bin/true", "true", NULL);
			_exit(9);
		}
		CHECK(waitpid(pid, &status, 0) == pid && !status);
	}
	printf("%d dispatched, %d others, handled %d\ncalls before %d\n", dispatched, others, handled, 3000);
	fflush(stdout);
	if (!strcmp(argv[1], "crash"))
		*(volatile char *)8 = 1;
	return 0;
}
