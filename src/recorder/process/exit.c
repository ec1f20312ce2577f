#include "recorder/process/exit.h"
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include "recorder/host/process.h"

/* linux/pidfd.h of 6.15, which Debian 12's headers don't have yet. */
struct pidfd_info_v2 {
	uint64_t mask, cgroupid;
	uint32_t pid, tgid, ppid, ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
	int32_t exit_code;
	uint64_t reserved[4];
};
#define PIDFD_INFO_EXIT_MASK (1u << 3)
#define PIDFD_GET_INFO_V2                                                                                                                  \
	_IOWR(                                                                                                                             \
		0xFF, 11, struct { uint8_t bytes[64]; })

struct ada_exit_info ada_exit_of_status(int status)
{
	if (WIFEXITED(status))
		return (struct ada_exit_info){ .kind = ADA_EXIT_EXITED, .value = WEXITSTATUS(status) };
	if (WIFSIGNALED(status))
		return (struct ada_exit_info){ .kind = ADA_EXIT_SIGNAL, .value = WTERMSIG(status), .core_dumped = WCOREDUMP(status) };
	return (struct ada_exit_info){ .kind = ADA_EXIT_UNKNOWN };
}

static bool status_of_zombie(pid_t pid, int *status)
{
	char line[1024];
	const char *stat = ada_process_stat(pid, line, sizeof line), *last = stat ? strrchr(stat, ' ') : NULL;

	return last && stat[0] == 'Z' && sscanf(last, "%d", status) == 1; /* exit_code is the last field */
}

static bool status_of_pidfd(int pidfd, int *status)
{
	struct pidfd_info_v2 info = { .mask = PIDFD_INFO_EXIT_MASK };

	if (pidfd < 0 || ioctl(pidfd, PIDFD_GET_INFO_V2, &info) || !(info.mask & PIDFD_INFO_EXIT_MASK))
		return false;
	*status = info.exit_code;
	return true;
}

struct ada_exit_info ada_exit_of_stranger(pid_t pid, int pidfd)
{
	int status;

	if (status_of_zombie(pid, &status) || status_of_pidfd(pidfd, &status))
		return ada_exit_of_status(status);
	return (struct ada_exit_info){ .kind = ADA_EXIT_UNKNOWN };
}

int ada_exit_shell_status(const struct ada_exit_info *exit)
{
	if (exit->kind == ADA_EXIT_EXITED)
		return exit->value;
	return exit->kind == ADA_EXIT_SIGNAL ? 128 + exit->value : ADA_EXIT_FAILED;
}
