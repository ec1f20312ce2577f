#include "recorder/exit.h"
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

/* linux/pidfd.h of 6.15, which Debian 12's headers don't have yet. */
struct pidfd_info_v2 {
	uint64_t mask, cgroupid;
	uint32_t pid, tgid, ppid, ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
	int32_t exit_code;
	uint64_t reserved[4];
};
#define PIDFD_INFO_EXIT_MASK (1u << 3)
#define PIDFD_GET_INFO_V2 _IOWR(0xFF, 11, struct { uint8_t bytes[64]; })

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
	char path[40], line[1024];
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	FILE *file = fopen(path, "re");
	if (!file)
		return false;
	size_t length = fread(line, 1, sizeof(line) - 1, file);
	fclose(file);
	line[length] = 0;
	const char *rest = strrchr(line, ')');	/* the name before it may hold anything */
	if (!rest || rest[1] != ' ' || rest[2] != 'Z')
		return false;
	const char *last = strrchr(line, ' ');	/* exit_code is the last field */
	return last && sscanf(last, "%d", status) == 1;
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
