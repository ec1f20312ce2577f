/* What /proc says of a process. */
#ifndef ADA_RECORDER_PROCESS_H
#define ADA_RECORDER_PROCESS_H
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* /proc/PID/stat behind the name: "S PPID ..."; NULL: there is no such process. Points into `line`. */
const char *ada_process_stat(pid_t pid, char *line, size_t bytes);
pid_t ada_process_parent(pid_t pid);		    /* 0: not known */
bool ada_process_start_ns(pid_t pid, uint64_t *ns); /* CLOCK_BOOTTIME when it was forked, to 10 ms, not after it; false: not known */
bool ada_process_is_ending(pid_t pid);		    /* the process has no memory any more: the kernel may take a while to free much of it */

/* The absolute path that its program was started by, through whatever links, where that still leads to it; false: not known, or a script. */
bool ada_process_started_as(pid_t pid, char path[PATH_MAX]);

/* How it ended. */
enum ada_exit_kind { ADA_EXIT_RUNNING, ADA_EXIT_EXITED, ADA_EXIT_SIGNAL, ADA_EXIT_EXEC, ADA_EXIT_UNKNOWN };

struct ada_exit_info {
	enum ada_exit_kind kind;
	int value; /* status, or signal */
	bool core_dumped;
};
#endif
