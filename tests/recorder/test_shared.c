/* Where shared memory lies: in a tmpfs of the recorder's own, whoever it runs as; else in /dev/shm, in a directory of the session's, and
 * without a name where that can't be had. */
#include "../test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>
#include "recorder/index/shared.h"

#define NOBODY 65534
#define NOT_POSSIBLE 77
#define NO_OTHERS 64321u /* a user whose directory in /dev/shm is this test's alone */

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	close(fd);
	return written;
}

/* The namespaces that a program of ours would be in, and what is mounted there. */
static void surroundings(char *text, size_t size)
{
	static const char *const links[] = { "/proc/self/ns/mnt", "/proc/self/ns/user", "/proc/self/root" };
	size_t used = 0;
	FILE *mounts;

	for (size_t i = 0; i < 3; i++) {
		ssize_t length = readlink(links[i], text + used, size - used);

		used += length > 0 ? (size_t)length : 0;
	}
	mounts = fopen("/proc/self/mountinfo", "r");
	assert_non_null(mounts);
	used += fread(text + used, 1, size - used - 1, mounts);
	fclose(mounts);
	text[used] = 0;
}

static void check_file(const struct ada_shared *shared, const char *name)
{
	int fd, other;
	struct stat file;
	char *one, *two;

	assert_int_equal(ada_shared_file(shared, name, 64 << 20, &fd, &other, NULL), 0);
	assert_int_equal(fstat(fd, &file), 0);
	assert_int_equal(file.st_size, 64 << 20);
	assert_int_equal(file.st_nlink, name && shared->named);
	assert_int_equal(file.st_blocks, 0);
	assert_int_equal(file.st_uid, geteuid());
	assert_int_equal(file.st_mode & 0777, 0600);
	one = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	two = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, other, 0);
	assert_true(one != MAP_FAILED && two != MAP_FAILED);
	strcpy(one, "shared");
	assert_string_equal(two, "shared");
	close(other);
	assert_int_equal(fcntl(fd, F_SETLEASE, F_WRLCK), -1); /* the second open file counts while it is mapped */
	munmap(two, 4096);
	munmap(one, 4096);
	assert_int_equal(fcntl(fd, F_SETLEASE, F_WRLCK), 0);
	if (name && shared->named) {
		int second;

		assert_int_equal(ada_shared_file(shared, name, 1, &second, NULL, NULL), -EEXIST);
		assert_int_equal(second, -1);
		assert_int_equal(faccessat(shared->directory, name, F_OK, 0), 0);
		ada_shared_unlink(shared, name);
		assert_int_equal(faccessat(shared->directory, name, F_OK, 0), -1);
	}
	close(fd);
}

static void a_tmpfs_of_its_own(void **state)
{
	static char before[65536], after[65536];
	struct ada_shared shared;
	struct statfs system;

	surroundings(before, sizeof before);
	assert_int_equal(ada_shared_open(&shared, NULL), 0);
	surroundings(after, sizeof after);
	assert_string_equal(before, after);
	assert_true(shared.own);
	assert_int_equal(fstatfs(shared.directory, &system), 0);
	assert_int_equal(system.f_type, TMPFS_MAGIC);
	check_file(&shared, NULL);
	check_file(&shared, "segment.7");
	ada_shared_remove(&shared);
	assert_int_equal(shared.directory, -1);
}

/* What other users' recorders have there comes and goes meanwhile. */
static bool is_anothers_home(const char *name)
{
	unsigned int user;

	return sscanf(name, "ada-%u", &user) == 1 && user != geteuid();
}

static size_t names_in_dev_shm(void)
{
	size_t count = 0;
	DIR *directory = opendir("/dev/shm");

	assert_non_null(directory);
	for (struct dirent *entry; (entry = readdir(directory));)
		count += !strncmp(entry->d_name, "ada", 3) && !is_anothers_home(entry->d_name);
	closedir(directory);
	return count;
}

static void open_in_dev_shm(struct ada_shared *shared)
{
	struct statfs system, dev_shm;

	assert_int_equal(ada_shared_open(shared, NULL), 0);
	assert_false(shared->own);
	assert_int_equal(fstatfs(shared->directory, &system) | statfs("/dev/shm", &dev_shm), 0);
	assert_memory_equal(&system.f_fsid, &dev_shm.f_fsid, sizeof system.f_fsid);
}

static void read_session(int directory, char *text, size_t size)
{
	int fd = openat(directory, ADA_SHARED_SESSION, O_RDONLY);
	ssize_t length = read(fd, text, size - 1);

	assert_true(length > 0);
	text[length] = 0;
	close(fd);
}

static void dev_shm_with_names(void **state)
{
	char home[ADA_SHARED_NAME_BYTES], path[2 * ADA_SHARED_NAME_BYTES + 8], text[256];
	struct ada_shared shared, other;
	struct stat info;
	int arena, fd;

	open_in_dev_shm(&shared);
	assert_true(shared.named);
	check_file(&shared, NULL);
	check_file(&shared, "segment.0");
	assert_int_equal(ada_shared_open(&other, NULL), 0); /* of another session, beside it */
	assert_string_not_equal(shared.name, other.name);
	ada_shared_home_path(home);
	snprintf(path, sizeof path, "%s/%s", home, shared.name);
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_mode & 07777, 0700);

	assert_int_equal(ada_shared_tell_session(&shared, "/some/where\nelse"), 0);
	read_session(shared.directory, text, sizeof text);
	assert_string_equal(strstr(text, "\nsession ") + strlen("\nsession "), "/some/where\nelse");

	assert_true(ada_shared_is_dead(shared.directory, &arena)); /* there is no arena yet */
	assert_int_equal(arena, -1);
	assert_int_equal(ada_shared_file(&shared, ADA_SHARED_ARENA, 4096, &fd, NULL, NULL), 0);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	assert_false(ada_shared_is_dead(shared.directory, &arena));
	close(arena);
	close(fd);
	assert_true(ada_shared_is_dead(shared.directory, &arena));
	close(arena);

	ada_shared_remove(&other);
	assert_int_equal(stat(path, &info), 0);
	ada_shared_remove(&shared);
	assert_int_equal(stat(path, &info), -1);
}

/* Somebody else has the name that ours would have, or something has. */
static void dev_shm_without_names(void **state)
{
	char home[ADA_SHARED_NAME_BYTES];
	struct ada_shared shared;
	size_t names;

	ada_shared_home_path(home);
	assert_int_equal(symlink("/tmp", home), 0);
	names = names_in_dev_shm();
	open_in_dev_shm(&shared);
	unlink(home);
	assert_false(shared.named);
	check_file(&shared, "segment.0");
	assert_int_equal(names_in_dev_shm(), names - 1);
	ada_shared_remove(&shared);
}

/* Whoever can't make an arena has no use for names. */
static void names_given_up(void **state)
{
	struct ada_shared shared;

	open_in_dev_shm(&shared);
	assert_int_equal(ada_shared_unname(&shared, NULL), 0);
	assert_string_equal(shared.name, "");
	check_file(&shared, "segment.0");
	ada_shared_remove(&shared);
}

static void dev_shm(void **state)
{
	dev_shm_with_names(state);
	names_given_up(state);
	dev_shm_without_names(state);
}

static bool become_nobody(void)
{
	return !setgid(NOBODY) && !setuid(NOBODY) && !prctl(PR_SET_DUMPABLE, 1);
}

/* Not in a chroot, for one. */
static bool has_user_namespaces(void)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(!become_nobody() || unshare(CLONE_NEWUSER));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return !status;
}

/* Into a user namespace that allows no other: no right to mount in the mount namespace that it is in, and no way to another. */
static bool lose_all_rights(void)
{
	char users[64], groups[64];

	snprintf(users, sizeof users, "%u %u 1", NO_OTHERS, geteuid());
	snprintf(groups, sizeof groups, "%u %u 1", NO_OTHERS, getegid());
	return !unshare(CLONE_NEWUSER) && write_file("/proc/self/setgroups", "deny") && write_file("/proc/self/uid_map", users) &&
	       write_file("/proc/self/gid_map", groups) && write_file("/proc/sys/user/max_user_namespaces", "0");
}

/* In a child, `become` first. Its output goes to stderr: this program's own is TAP. */
static void run_as(bool (*become)(void), const char *name, CMUnitTestFunction test)
{
	const struct CMUnitTest tests[] = { { name, test, NULL, NULL, NULL } };
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		dup2(STDERR_FILENO, STDOUT_FILENO);
		exit(!become() ? NOT_POSSIBLE : cmocka_run_group_tests_name(name, tests, NULL, NULL));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == NOT_POSSIBLE)
		test_skip("needs user namespaces");
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void for_who_is_not_root(void **state)
{
	run_as(become_nobody, "nobody", has_user_namespaces() ? a_tmpfs_of_its_own : dev_shm);
}

static void where_it_is_forbidden(void **state)
{
	run_as(lose_all_rights, "forbidden", dev_shm);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(a_tmpfs_of_its_own), cmocka_unit_test(for_who_is_not_root),
					    cmocka_unit_test(where_it_is_forbidden) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
