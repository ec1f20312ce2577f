/* Fork and exec. The recorder changes no signal disposition (it reads signals through a signalfd), so only the mask and the limits have
 * to be put back. A pipe that exec closes tells the parent whether exec worked. */
#include "recorder/host/spawn.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "abi/wire.h"
#include "base/file.h"

extern char **environ;

struct environment {
	char **items;
	char *preload, *socket;
};

static void environment_free(struct environment *environment)
{
	free(environment->items);
	free(environment->preload);
	free(environment->socket);
}

/* The user's environment in its order, with LD_PRELOAD (the agent first) and ADA_SOCKET behind it. */
static int environment_make(struct environment *environment, const char *agent, const char *socket)
{
	const char *users = getenv("LD_PRELOAD");
	size_t count = 0, kept = 0;

	while (environ && environ[count])
		count++;
	*environment = (struct environment){ .items = calloc(count + 3, sizeof(char *)) };
	if (asprintf(&environment->preload, "LD_PRELOAD=%s%s%s", agent, users && *users ? ":" : "", users ? users : "") < 0)
		environment->preload = NULL;
	if (asprintf(&environment->socket, ADA_ENV_SOCKET "=%s", socket) < 0)
		environment->socket = NULL;
	if (!environment->items || !environment->preload || !environment->socket) {
		environment_free(environment);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++)
		if (strncmp(environ[i], "LD_PRELOAD=", 11) && strncmp(environ[i], ADA_ENV_SOCKET "=", sizeof ADA_ENV_SOCKET))
			environment->items[kept++] = environ[i];
	environment->items[kept++] = environment->preload;
	environment->items[kept] = environment->socket;
	return 0;
}

static void __attribute__((noreturn)) child_run(const struct ada_spawn *spawn, char **environment, int report, const int go[2])
{
	char nothing;
	int code;

	close(go[1]);
	while (read(go[0], &nothing, 1) < 0 && errno == EINTR) /* until the other end is closed */
		;

	setrlimit(RLIMIT_NOFILE, &spawn->inheritance->files);
	sigprocmask(SIG_SETMASK, &spawn->inheritance->mask, NULL);
	execve(spawn->path, spawn->arguments, environment);
	code = errno;
	while (write(report, &code, sizeof code) < 0 && errno == EINTR)
		;
	_exit(ADA_EXIT_NOT_EXECUTABLE);
}

pid_t ada_spawn(const struct ada_spawn *spawn, struct ada_error *error)
{
	struct environment environment;
	int report[2], go[2], code = 0;
	pid_t pid;
	int fork_code;

	if (environment_make(&environment, spawn->agent, spawn->socket))
		return ada_error_system(error, ENOMEM, "%s", spawn->path);
	if (pipe2(report, O_CLOEXEC)) {
		environment_free(&environment);
		return ada_error_system(error, errno, "pipe");
	}
	if (pipe2(go, O_CLOEXEC)) {
		fork_code = errno;
		close(report[0]);
		close(report[1]);
		environment_free(&environment);
		return ada_error_system(error, fork_code, "pipe");
	}
	pid = fork();
	if (!pid)
		child_run(spawn, environment.items, report[1], go);
	fork_code = errno;
	close(report[1]);
	close(go[0]);
	if (pid > 0 && spawn->forked)
		spawn->forked(spawn->context, pid);
	close(go[1]);
	if (pid < 0) {
		pid = ada_error_system(error, fork_code, "fork");
	} else {
		ssize_t got;

		while ((got = read(report[0], &code, sizeof code)) < 0 && errno == EINTR)
			;
		if (got == sizeof code)
			pid = ada_error_system(error, code, "%s: can't be executed", spawn->path);
	}
	close(report[0]);
	environment_free(&environment);
	return pid;
}

int ada_agent_find(char *path, const char *given, struct ada_error *error)
{
	static const char *const places[] = { "libada-agent.so", "src/agent/libada-agent.so", "../agent/libada-agent.so",
					      "../lib/ada/libada-agent.so", "../lib/x86_64-linux-gnu/ada/libada-agent.so" };
	char own[PATH_MAX], candidate[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
	bool found;

	if (length < 0)
		return ada_error_system(error, errno, "/proc/self/exe");
	own[length] = 0;
	*strrchr(own, '/') = 0;
	found = given && realpath(given, path);
	for (size_t i = 0; !given && !found && i < sizeof places / sizeof *places; i++)
		found = !ada_path(candidate, "%s/%s", own, places[i]) && realpath(candidate, path);
	if (!found)
		return ada_error_set(error, ENOENT, "libada-agent.so is not where it belongs, near %s: build or install ada again", own);
	if (strpbrk(path, ": "))
		return ada_error_set(error, EINVAL, "%s: the loader can't preload from a path with a space or colon: move ada", path);
	return 0;
}
