/* --on-window=COMMAND: a process beside `ada trace` that runs COMMAND for each window, once the window is settled. */
#ifndef ADA_CLI_RECORD_HERALD_H
#define ADA_CLI_RECORD_HERALD_H
#include <sys/types.h>
#include "base/error.h"

struct ada_herald {
	pid_t pid;    /* 0: there is none */
	int recorder; /* the pipe that it reads: the recorder writes the session's path, and its end is the recording's. 0: none */
	const char *command;
};

/* Before the caller has any thread. NULL as COMMAND: there will be no process. */
int ada_herald_start(struct ada_herald *herald, const char *command, struct ada_error *error);
/* Behind the recording: waits until all windows are told, a few seconds at most. */
void ada_herald_end(struct ada_herald *herald);
#endif
