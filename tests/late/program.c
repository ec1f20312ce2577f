/* late_program serve|threads|pairs|blocked|inside|loops */
#include "program.h"
#include <dlfcn.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

int ada_late_library(int count);
__attribute__((noinline, noclone)) int quiet(int x);
__attribute__((noinline, noclone)) int quiet(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 2;
}

static int plugin(int count)
{
	char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
	void *library;
	int (*call)(int), x = 0;

	check(length > 0, "readlink");
	path[length] = 0;
	strcpy(strrchr(path, '/'), "/libada-tests-plugin.so");
	library = dlopen(path, RTLD_NOW);
	check(library != NULL, "dlopen");
	call = (int (*)(int))dlsym(library, "ada_late_plugin");
	for (int i = 0; i < count; i++)
		x = call(x);
	dlclose(library);
	return x;
}

/* The child goes on, too: it makes its calls once a line comes through the pipe, and is waited for at the end. */
static void make_child(int count, int *go)
{
	int pipes[2], up[2], x = 0;
	char byte;

	check(!pipe(pipes) && !pipe(up), "pipe");
	if (fork()) {
		check(read(up[0], &byte, 1) == 1, "up");
		*go = pipes[1];
		return;
	}
	check(write(up[1], "x", 1) == 1, "up"); /* known to ada by now */
	check(read(pipes[0], &byte, 1) == 1, "go");
	for (int i = 0; i < count; i++)
		x = quiet(x);
	_exit(x != 2 * count);
}

/* A child traces this process, as a debugger would, until it is killed. */
static void be_traced(void)
{
	int pipes[2];
	char byte;

	check(!pipe(pipes), "pipe");
	if (!fork()) {
		check(!ptrace(PTRACE_SEIZE, getppid(), 0, 0), "seize");
		check(write(pipes[1], "x", 1) == 1, "pipe");
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	check(read(pipes[0], &byte, 1) == 1, "traced");
}

/* "quiet N", "library N", "plugin N": that many calls, then "done". "child N": another process that makes them on "go". */
static void serve(void)
{
	int go = -1, status;
	char what[32];
	int count;

	puts("ready");
	fflush(stdout);
	while (scanf("%31s %d", what, &count) == 2) {
		int x = 0;

		if (!strcmp(what, "quiet")) {
			for (int i = 0; i < count; i++)
				x = quiet(x);
			check(x == 2 * count, "quiet");
		} else if (!strcmp(what, "library")) {
			check(ada_late_library(count) == count, "library");
		} else if (!strcmp(what, "plugin")) {
			check(plugin(count) == 3 * count, "plugin");
		} else if (!strcmp(what, "child")) {
			make_child(count, &go);
		} else if (!strcmp(what, "go")) {
			check(write(go, "x", 1) == 1 && wait(&status) > 0 && !status, "child");
		} else if (!strcmp(what, "traced")) {
			be_traced();
		}
		puts("done");
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	check(argc == 2, "arguments");
	if (!strcmp(argv[1], "serve"))
		serve();
	else if (!strcmp(argv[1], "threads") || !strcmp(argv[1], "pairs"))
		late_threads(!strcmp(argv[1], "pairs"));
	else if (!strcmp(argv[1], "inside"))
		late_inside();
	else if (!strcmp(argv[1], "loops"))
		late_loops();
	else
		late_blocked();
	return 0;
}
