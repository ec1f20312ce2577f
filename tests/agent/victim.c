/* What test_life.c runs under the agent: each mode prints what a program can see of us, which is nothing. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>

extern char **environ;

__attribute__((noipa)) int victim_add(int one, int two)
{
	return one + two;
}

/* What of ours the program can find: variables, descriptors, its place in the list of modules. */
static int see(void)
{
	DIR *directory = opendir("/proc/self/fd");
	int extra = 0;

	for (struct dirent *entry; (entry = readdir(directory));)
		extra += atoi(entry->d_name) > 2 && atoi(entry->d_name) != dirfd(directory);
	closedir(directory);
	printf("socket=%s preload=%s descriptors=%d", getenv("ADA_SOCKET") ? "seen" : "none",
	       getenv("LD_PRELOAD") ? getenv("LD_PRELOAD") : "none", extra);
	return 0;
}

static int first_object(struct dl_phdr_info *info, size_t size, void *seen)
{
	if (!info->dlpi_name[0] || strstr(info->dlpi_name, "vdso"))
		return 0;
	printf("first=%s", strstr(info->dlpi_name, "libada-agent.so") ? "agent" : "other");
	return 1;
}

static int calls(void)
{
	int sum = 0;

	for (int i = 0; i < 1000; i++)
		sum = victim_add(sum, 1);
	for (int i = 0; i < 100; i++)
		sum += getppid() > 0;
	printf("sum=%d", sum);
	return 0;
}

static int forks(void)
{
	int status;
	pid_t child = fork();

	if (!child)
		_exit(victim_add(40, 2));
	waitpid(child, &status, 0);
	printf("child=%d", WEXITSTATUS(status));
	return 0;
}

static int forks_raw(void)
{
	int status;
	pid_t child = syscall(57); /* past libc */

	if (!child)
		_exit(victim_add(40, 2));
	waitpid(child, &status, 0);
	printf("child=%d", WEXITSTATUS(status));
	return 0;
}

static int execs(const char *self, const char *how)
{
	char *arguments[] = { (char *)self, (char *)how, NULL };
	pid_t child;
	int status;

	fflush(stdout);
	if (posix_spawn(&child, self, NULL, NULL, arguments, environ) || waitpid(child, &status, 0) != child || status)
		return 1;
	child = fork();
	if (!child)
		_exit(fexecve(open(self, O_RDONLY | O_CLOEXEC), arguments, environ) || 1);
	if (waitpid(child, &status, 0) != child || status)
		return 1;
	child = vfork();
	if (!child) {
		execv("/nowhere", arguments);
		execv(self, arguments);
		_exit(9);
	}
	if (waitpid(child, &status, 0) != child || status)
		return 1;
	errno = 0;
	if (execv("/nowhere", arguments) != -1 || errno != ENOENT)
		return 1;
	execv(self, arguments);
	return 1;
}

static int dispositions(void)
{
	struct sigaction before, after, mine = { .sa_handler = SIG_IGN };

	sigaction(SIGSEGV, NULL, &before);
	printf("default=%d flags=%d ", before.sa_handler == SIG_DFL, before.sa_flags);
	sigaction(SIGSEGV, &mine, NULL);
	sigaction(SIGSEGV, &before, &after);
	printf("own=%d ", after.sa_handler == SIG_IGN);
	printf("signal=%d ", signal(SIGSEGV, SIG_DFL) == SIG_DFL);
	printf("again=%d", signal(SIGSEGV, SIG_IGN) == SIG_DFL);
	return 0;
}

static volatile int delivered, with_info, blocked;

static void take_plain(int number)
{
	sigset_t mask;

	sigprocmask(SIG_SETMASK, NULL, &mask);
	blocked = sigismember(&mask, SIGUSR2) + 2 * sigismember(&mask, number);
	delivered += number;
}

static void take_info(int number, siginfo_t *info, void *context)
{
	stack_t stack;

	sigaltstack(NULL, &stack);
	with_info = (info->si_signo == number) + 2 * (info->si_value.sival_int == 77) + 4 * !!(stack.ss_flags & SS_ONSTACK) +
		    8 * (context != NULL);
	delivered += number;
}

/* Handlers of every sort: what they are given, and what sigaction says of them. */
static int signals(const char *last)
{
	static char alternate[65536];
	struct sigaction plain = { .sa_handler = take_plain, .sa_flags = SA_RESTART }, old;
	struct sigaction info = { .sa_sigaction = take_info, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };
	struct sigaction once = { .sa_handler = take_plain, .sa_flags = SA_RESETHAND };
	int own = 0;

	sigaltstack(&(stack_t){ .ss_sp = alternate, .ss_size = sizeof alternate }, NULL);
	sigaddset(&plain.sa_mask, SIGUSR2);
	sigaction(SIGUSR1, &plain, NULL);
	sigaction(SIGUSR1, NULL, &old);
	own += old.sa_handler == take_plain && !(old.sa_flags & SA_SIGINFO) && sigismember(&old.sa_mask, SIGUSR2);
	raise(SIGUSR1);
	printf("%d:%d ", delivered, blocked);
	sigaction(SIGRTMIN, &info, NULL);
	sigqueue(getpid(), SIGRTMIN, (union sigval){ .sival_int = 77 });
	printf("%d ", with_info);
	sigaction(SIGRTMIN, &plain, &old);
	own += old.sa_sigaction == take_info && (old.sa_flags & (SA_SIGINFO | SA_ONSTACK | SA_NODEFER)) == info.sa_flags;
	sigaction(SIGSEGV, &once, NULL);
	raise(SIGSEGV);
	sigaction(SIGSEGV, NULL, &old);
	own += old.sa_handler == SIG_DFL;
	own += signal(SIGUSR1, SIG_IGN) == take_plain;
	raise(SIGUSR1);
	own += signal(SIGUSR1, take_plain) == SIG_IGN && signal(SIGUSR1, SIG_DFL) == take_plain;
	printf("own=%d delivered=%d ", own, delivered - SIGRTMIN);
	fflush(stdout);
	raise(atoi(last));
	return 0;
}

/* Asks by a pointer, which no hook of imports sees. */
static int late(const char *fifo)
{
	pid_t (*ask)(pid_t) = (pid_t(*)(pid_t))dlsym(RTLD_DEFAULT, "getsid");
	int sum = 0;

	for (int i = 0; i < 50; i++)
		sum += ask(0) >= 0; /* 0: a session of outside this PID namespace */
	printf("ready ");
	fflush(stdout);
	close(open(fifo, O_RDONLY)); /* waits until the other end is opened */
	for (int i = 0; i < 50; i++)
		sum += ask(0) >= 0;
	printf("sum=%d", sum);
	return 0;
}

static jmp_buf place;

__attribute__((noipa)) static void jump_deep(int depth)
{
	if (!depth)
		longjmp(place, 7);
	jump_deep(depth - 1);
	victim_add(depth, depth);
}

static int jumps(void)
{
	int value = setjmp(place);

	if (!value)
		jump_deep(10);
	printf("jumped=%d", value);
	return 0;
}

static int loads(const char *library)
{
	for (int i = 0; i < 3; i++) {
		void *handle = dlopen(library, RTLD_NOW);
		int (*function)(int) = handle ? (int (*)(int))dlsym(handle, "victim_library_ask") : NULL;

		printf("%d ", function ? function(i) : -1);
		if (!handle || dlclose(handle))
			return 1;
	}
	return 0;
}

static int crash(const char *how)
{
	fflush(stdout);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "trap"))
		__asm__ volatile("int3");
	if (!strcmp(how, "kill"))
		kill(getpid(), SIGBUS);
	return *(volatile int *)64;
}

int main(int count, char **arguments)
{
	const char *mode = count > 1 ? arguments[1] : "see";
	const char *argument = count > 2 ? arguments[2] : "";

	if (!strcmp(mode, "see"))
		return see();
	if (!strcmp(mode, "first"))
		return !dl_iterate_phdr(first_object, NULL);
	if (!strcmp(mode, "calls"))
		return calls();
	if (!strcmp(mode, "fork"))
		return forks();
	if (!strcmp(mode, "fork-raw"))
		return forks_raw();
	if (!strcmp(mode, "exec"))
		return execs(arguments[0], argument);
	if (!strcmp(mode, "dispositions"))
		return dispositions();
	if (!strcmp(mode, "signals"))
		return signals(argument);
	if (!strcmp(mode, "late"))
		return late(argument);
	if (!strcmp(mode, "jump"))
		return jumps();
	if (!strcmp(mode, "load"))
		return loads(argument);
	return crash(argument);
}
