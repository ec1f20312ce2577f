#include "recorder/shared.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define FALLBACK "/dev/shm"

/* A tmpfs that hangs nowhere: a descriptor of its root, or -errno. */
static int mount_make(void)
{
	int context = (int)syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC);
	if (context < 0)
		return -errno;
	/* Small pages where the kernel has no huge ones. Its size: half of the machine's memory, as /dev/shm has by default. */
	syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, "huge", "always", 0);
	int fd = -1;
	if (!syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, "mode", "0700", 0) &&
	    !syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		fd = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	int rc = fd < 0 ? -errno : fd;
	close(context);
	return rc;
}

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	if (fd >= 0)
		close(fd);
	return written;
}

/* In a child that shares its parent's descriptors: the mount takes the place of `place`. */
static int helper(int place, const char *users, const char *groups)
{
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) || !write_file("/proc/self/setgroups", "deny") ||
	    !write_file("/proc/self/uid_map", users) || !write_file("/proc/self/gid_map", groups))
		return 1;
	int fd = mount_make();
	return fd < 0 || dup3(fd, place, O_CLOEXEC) < 0 || close(fd);
}

/* The same, where only a user namespace gives the right to mount. It lives as long as the mount does. */
static int mount_make_in_namespace(void)
{
	char users[64], groups[64];
	int status = 1, place = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (place < 0)
		return -errno;
	snprintf(users, sizeof(users), "%u %u 1", geteuid(), geteuid());
	snprintf(groups, sizeof(groups), "%u %u 1", getegid(), getegid());
	/* No SIGCHLD, which may be ignored: __WCLONE waits for it. */
	pid_t pid = (pid_t)syscall(SYS_clone, CLONE_FILES, NULL, NULL, NULL, 0);
	if (!pid)
		_exit(helper(place, users, groups));
	while (pid > 0 && waitpid(pid, &status, __WCLONE) < 0 && errno == EINTR)
		;
	if (pid > 0 && !status)
		return place;
	close(place);
	return -EPERM;
}

/* Files of ours can be made there, and opened twice. */
static bool works(const struct ada_shared *shared)
{
	int fd, other;
	if (ada_shared_file(shared, 1, &fd, &other, NULL))
		return false;
	close(fd);
	close(other);
	return true;
}

int ada_shared_open(struct ada_shared *shared, struct ada_error *error)
{
	static int (*const ways[])(void) = { mount_make, mount_make_in_namespace };
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		*shared = (struct ada_shared){ .directory = ways[i](), .own = true };
		if (shared->directory >= 0 && works(shared))
			return 0;
		ada_shared_close(shared);
	}
	*shared = (struct ada_shared){ .directory = open(FALLBACK, O_RDONLY | O_DIRECTORY | O_CLOEXEC) };
	return shared->directory < 0 ? ada_error_system(error, errno, FALLBACK ": no shared memory") : 0;
}

void ada_shared_close(struct ada_shared *shared)
{
	if (shared->directory >= 0)
		close(shared->directory);
	*shared = (struct ada_shared){ .directory = -1 };
}

int ada_shared_file(const struct ada_shared *shared, uint64_t bytes, int *fd, int *other, struct ada_error *error)
{
	char path[40];
	*other = -1;
	*fd = openat(shared->directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (*fd >= 0 && !ftruncate(*fd, (off_t)bytes)) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", *fd);
		*other = open(path, O_RDWR | O_CLOEXEC);
	}
	if (*other >= 0)
		return 0;
	int rc = ada_error_system(error, errno, "%s: no shared memory", ada_shared_text(shared));
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	return rc;
}

const char *ada_shared_text(const struct ada_shared *shared)
{
	return shared->own ? "ada's half of the memory" : FALLBACK;
}
