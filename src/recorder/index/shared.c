#include "recorder/index/shared.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/directory.h"

#define FALLBACK "/dev/shm"
#define ATTEMPTS 100 /* others may remove the user's directory, and take names in it, at the same time */

/* A tmpfs that hangs nowhere: a descriptor of its root, or -errno. */
static int mount_make(void)
{
	int context = (int)syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC);
	int fd = -1, status;

	if (context < 0)
		return -errno;
	/* Small pages where the kernel has no huge ones. Its size: half of the machine's memory, as /dev/shm has by default. */
	syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, "huge", "always", 0);
	if (!syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, "mode", "0700", 0) &&
	    !syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		fd = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	status = fd < 0 ? -errno : fd;
	close(context);
	return status;
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
	int fd;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) || !write_file("/proc/self/setgroups", "deny") ||
	    !write_file("/proc/self/uid_map", users) || !write_file("/proc/self/gid_map", groups))
		return 1;
	fd = mount_make();
	return fd < 0 || dup3(fd, place, O_CLOEXEC) < 0 || close(fd);
}

/* The same, where only a user namespace gives the right to mount. The namespace lives as long as the mount. */
static int mount_make_in_namespace(void)
{
	char users[64], groups[64];
	int status = 1, place = open("/dev/null", O_RDONLY | O_CLOEXEC);
	pid_t pid;

	if (place < 0)
		return -errno;
	snprintf(users, sizeof users, "%u %u 1", geteuid(), geteuid());
	snprintf(groups, sizeof groups, "%u %u 1", getegid(), getegid());
	/* No SIGCHLD, which may be ignored: __WCLONE waits for it. */
	pid = (pid_t)syscall(SYS_clone, CLONE_FILES, NULL, NULL, NULL, 0);
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

	if (ada_shared_file(shared, "probe", 1, &fd, &other, NULL))
		return false;
	ada_shared_unlink(shared, "probe");
	close(fd);
	close(other);
	return true;
}

void ada_shared_home_path(char path[ADA_SHARED_NAME_BYTES])
{
	snprintf(path, ADA_SHARED_NAME_BYTES, FALLBACK "/ada-%u", geteuid());
}

/* Makes the session's own directory. -errno: there is none; then files have no names. */
static int add_to_home(struct ada_shared *shared)
{
	char home[ADA_SHARED_NAME_BYTES];
	int fd = -EEXIST;

	ada_shared_home_path(home);
	for (int i = 0; i < ATTEMPTS && (fd == -EEXIST || fd == -ENOENT); i++) {
		int parent = mkdir(home, 0700) && errno != EEXIST ? -1 : ada_directory_private(AT_FDCWD, home);

		if (parent < 0 && errno != ENOENT)
			return -errno;
		snprintf(shared->name, sizeof shared->name, "%d.%d", getpid(), i);
		fd = parent < 0 ? -ENOENT : ada_directory_add(parent, shared->name);
		if (parent >= 0)
			close(parent);
	}
	if (fd < 0)
		shared->name[0] = 0;
	return fd;
}

static int open_fallback(struct ada_shared *shared, struct ada_error *error)
{
	*shared = (struct ada_shared){ .named = true };
	shared->directory = add_to_home(shared);
	return shared->directory >= 0 && works(shared) ? 0 : ada_shared_unname(shared, error);
}

int ada_shared_unname(struct ada_shared *shared, struct ada_error *error)
{
	if (shared->own) {
		shared->named = false;
		return 0;
	}
	ada_shared_remove(shared);
	*shared = (struct ada_shared){ .directory = open(FALLBACK, O_RDONLY | O_DIRECTORY | O_CLOEXEC) };
	return shared->directory < 0 ? ada_error_system(error, errno, FALLBACK ": no shared memory") : 0;
}

int ada_shared_open(struct ada_shared *shared, struct ada_error *error)
{
	static int (*const ways[])(void) = { mount_make, mount_make_in_namespace };

	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		*shared = (struct ada_shared){ .directory = ways[i](), .own = true, .named = true };
		if (shared->directory >= 0 && works(shared))
			return 0;
		ada_shared_close(shared);
	}
	return open_fallback(shared, error);
}

void ada_shared_close(struct ada_shared *shared)
{
	if (shared->directory >= 0)
		close(shared->directory);
	*shared = (struct ada_shared){ .directory = -1 };
}

void ada_shared_remove(struct ada_shared *shared)
{
	char home[ADA_SHARED_NAME_BYTES];
	int parent;

	ada_shared_unlink(shared, ADA_SHARED_SESSION);
	ada_shared_unlink(shared, ADA_SHARED_ARENA);
	ada_shared_home_path(home);
	parent = *shared->name ? ada_directory_private(AT_FDCWD, home) : -1;
	if (parent >= 0) {
		unlinkat(parent, shared->name, AT_REMOVEDIR);
		close(parent);
		rmdir(home); /* where this was the last one */
	}
	ada_shared_close(shared);
}

int ada_shared_again(int fd)
{
	char path[40];

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return open(path, O_RDWR | O_CLOEXEC);
}

int ada_shared_file(const struct ada_shared *shared, const char *name, uint64_t bytes, int *fd, int *other, struct ada_error *error)
{
	bool named = name && shared->named, made;
	int status;

	*fd = named ? openat(shared->directory, name, O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0600) :
		      openat(shared->directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	made = *fd >= 0 && !ftruncate(*fd, (off_t)bytes);
	if (other)
		*other = made ? ada_shared_again(*fd) : -1;
	if (made && (!other || *other >= 0))
		return 0;
	status = ada_error_system(error, errno, "%s: no shared memory%s", ada_shared_text(shared), errno == EFBIG ? " (ulimit -f)" : "");
	if (*fd >= 0) {
		close(*fd);
		if (named)
			ada_shared_unlink(shared, name);
	}
	*fd = -1;
	return status;
}

int ada_shared_rename(const struct ada_shared *shared, const char *from, const char *to)
{
	return shared->named && renameat2(shared->directory, from, shared->directory, to, RENAME_NOREPLACE) ? -errno : 0;
}

void ada_shared_unlink(const struct ada_shared *shared, const char *name)
{
	if (shared->named && shared->directory >= 0)
		unlinkat(shared->directory, name, 0);
}

void ada_shared_segment_name(char name[ADA_SHARED_NAME_BYTES], uint32_t provider)
{
	snprintf(name, ADA_SHARED_NAME_BYTES, ADA_SHARED_SEGMENT_FORMAT, provider);
}

void ada_shared_ready_name(char name[ADA_SHARED_NAME_BYTES], uint32_t number)
{
	snprintf(name, ADA_SHARED_NAME_BYTES, ADA_SHARED_READY "%u", number);
}

int ada_shared_tell_session(const struct ada_shared *shared, const char *directory)
{
	char *text;
	int fd, length = asprintf(&text, "pid %d\nsession %s", getpid(), directory), status = -ENOMEM;

	if (length < 0)
		return status;
	status = ada_shared_file(shared, ADA_SHARED_SESSION, 0, &fd, NULL, NULL);
	if (!status) {
		ssize_t written = write(fd, text, (size_t)length);

		status = written == length ? 0 : written < 0 ? -errno : -ENOSPC;
		close(fd);
	}
	free(text);
	return status;
}

bool ada_shared_is_dead(int directory, int *arena)
{
	*arena = openat(directory, ADA_SHARED_ARENA, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return *arena >= 0 ? !flock(*arena, LOCK_EX | LOCK_NB) : errno == ENOENT;
}

const char *ada_shared_text(const struct ada_shared *shared)
{
	return shared->own ? "ada's half of the memory" : FALLBACK;
}
