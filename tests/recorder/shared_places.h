/* Where the segment's test makes its memory: as the recorder does, or in a tmpfs of a known size. */
#ifndef TESTS_RECORDER_SHARED_PLACES_H
#define TESTS_RECORDER_SHARED_PLACES_H
#include "../test.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "recorder/index/shared.h"

static struct ada_shared shared;

static int open_own(void **state)
{
	return ada_shared_open(&shared, NULL);
}

/* -1 where the system lets nobody mount. */
static int open_tmpfs(const char *size)
{
	int context = (int)syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC), fd = -1;

	if (context >= 0 && !syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, "size", size, 0) &&
	    !syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		fd = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0);
	close(context);
	shared = (struct ada_shared){ .directory = fd };
	return fd;
}

static int open_roomy(void **state)
{
	open_tmpfs("512m");
	return 0;
}

static int close_shared(void **state)
{
	if (shared.directory < 0)
		return 0;
	ada_shared_close(&shared);
	return 0;
}

static void write_file(const char *path, const char *format, unsigned id)
{
	FILE *file = fopen(path, "w");

	if (!file)
		return;
	fprintf(file, format, id, id);
	fclose(file);
}

/* In namespaces of its own; where there can't be any, nothing is mounted either. */
static void become_one_who_mounts(void)
{
	unsigned user = geteuid(), group = getegid();

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
		return;
	write_file("/proc/self/setgroups", "deny", 0);
	write_file("/proc/self/uid_map", "%u %u 1", user);
	write_file("/proc/self/gid_map", "%u %u 1", group);
}

#define IN(open, test)                                                                                                                     \
	{                                                                                                                                  \
#test ": " #open, test, open, close_shared, NULL                                                                           \
	}
#define IN_BOTH(test) IN(open_own, test), IN(open_roomy, test)
#endif
