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
	pid_t child = syscall(57);		/* past libc */

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
	if (!strcmp(mode, "jump"))
		return jumps();
	if (!strcmp(mode, "load"))
		return loads(argument);
	return crash(argument);
}
