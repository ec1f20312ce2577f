/* Starts the program as it would start without ada, but for the agent in LD_PRELOAD. */
#ifndef ADA_RECORDER_SPAWN_H
#define ADA_RECORDER_SPAWN_H
#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>
#include "base/error.h"

/* What ada changed of its own process and a child must not inherit. */
struct ada_inheritance {
	sigset_t mask;
	struct rlimit files;
};

struct ada_spawn {
	const char *path;
	char **arguments;
	const char *agent, *socket;
	const struct ada_inheritance *inheritance;
	/* What is to be done about the child before it executes the program: it waits for that. NULL: nothing. */
	void (*forked)(void *context, pid_t pid);
	void *context;
};

/* The child's pid, or -errno: then nothing runs. */
pid_t ada_spawn(const struct ada_spawn *spawn, struct ada_error *error);
/* libada-agent.so as laid out by the build tree or the installation of the running ada. `path` has PATH_MAX bytes. */
int ada_agent_find(char *path, const char *given, struct ada_error *error);
#endif
