#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/directory.h"
#include "base/file.h"
#include "../test.h"

#define ANOTHER 65534

static char directory[64];

static const char *in_directory(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof path, "%s/%s", directory, name);
	return path;
}

static int setup(void **state)
{
	strcpy(directory, "/tmp/ada-test-directory-XXXXXX");
	return mkdtemp(directory) ? 0 : -1;
}

static int teardown(void **state)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf %s", directory);
	return system(command);
}

static int opened(const char *path, unsigned flags, bool *made, struct ada_error *error)
{
	int fd = ada_directory_open(path, flags, made, error);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static void test_with_parents(void **state)
{
	struct ada_error error = { { 0 } };
	struct stat found;
	bool made;

	assert_int_equal(opened(in_directory("p/q/r"), 0, &made, NULL), -ENOENT);
	assert_int_equal(opened(in_directory("p/q/r"), ADA_DIRECTORY_MAKE, &made, NULL), 0);
	assert_true(made);
	assert_int_equal(opened(in_directory("p/q/r"), ADA_DIRECTORY_MAKE, &made, NULL), 0);
	assert_false(made);
	assert_int_equal(opened(in_directory("p//q/../q/s/"), ADA_DIRECTORY_MAKE, NULL, NULL), 0);
	assert_int_equal(stat(in_directory("p/q/s"), &found), 0);
	assert_int_equal(found.st_mode & 0777, 0700);
	assert_int_equal(opened("/proc/nothing/here", ADA_DIRECTORY_MAKE, NULL, &error), -ENOENT);
	assert_string_equal(error.text, "can't make directory /proc/nothing/here: No such file or directory");
	assert_int_equal(opened("", ADA_DIRECTORY_MAKE, NULL, NULL), -ENOENT);
	assert_int_equal(ada_file_replace(in_directory("plain"), "", 0, NULL), 0);
	assert_int_equal(opened(in_directory("plain"), ADA_DIRECTORY_MAKE, NULL, NULL), -ENOTDIR);
	assert_int_equal(opened(in_directory("plain/x"), ADA_DIRECTORY_MAKE, NULL, NULL), -ENOTDIR);
	assert_int_equal(opened("/", 0, NULL, NULL), 0);
	assert_int_equal(opened(".", 0, &made, NULL), 0);
}

/* The user's own are followed, wherever they lead and however many there are, but not in circles. */
static void test_own_links(void **state)
{
	char target[PATH_MAX];

	assert_int_equal(opened(in_directory("far/there"), ADA_DIRECTORY_MAKE, NULL, NULL), 0);
	snprintf(target, sizeof target, "%s", in_directory("far"));
	assert_int_equal(symlink(target, in_directory("absolute")), 0);
	assert_int_equal(symlink("absolute/../far//", in_directory("relative")), 0);
	assert_int_equal(symlink("round", in_directory("round")), 0);
	assert_int_equal(opened(in_directory("relative/there"), 0, NULL, NULL), 0);
	assert_int_equal(opened(in_directory("relative/more"), ADA_DIRECTORY_MAKE, NULL, NULL), 0);
	assert_int_equal(access(in_directory("far/more"), F_OK), 0);
	assert_int_equal(opened(in_directory("round/there"), ADA_DIRECTORY_MAKE, NULL, NULL), -ELOOP);
	assert_int_equal(symlink("nowhere", in_directory("dangling")), 0);
	assert_int_equal(opened(in_directory("dangling"), 0, NULL, NULL), -ENOENT);
}

static void test_links_of_another_user(void **state)
{
	struct ada_error error = { { 0 } };
	char target[PATH_MAX], expected[2 * PATH_MAX];

	if (geteuid())
		test_skip("needs root");
	snprintf(target, sizeof target, "%s", in_directory("mine"));
	assert_int_equal(mkdir(target, 0755), 0);
	assert_int_equal(symlink(target, in_directory("theirs")), 0);
	assert_int_equal(lchown(in_directory("theirs"), ANOTHER, ANOTHER), 0);
	assert_int_equal(opened(in_directory("theirs"), 0, NULL, NULL), -EPERM);
	assert_int_equal(opened(in_directory("theirs/below"), ADA_DIRECTORY_MAKE, NULL, &error), -EPERM);
	snprintf(expected, sizeof expected, "%s: theirs is a link of another user", in_directory("theirs/below"));
	assert_string_equal(error.text, expected);
	assert_int_equal(access(in_directory("mine/below"), F_OK), -1);
}

/* Another's directory may be used, but not as the user's own, and nothing is made there as such. */
static void test_directories_of_another_user(void **state)
{
	if (geteuid())
		test_skip("needs root");
	assert_int_equal(mkdir(in_directory("home"), 0755), 0);
	assert_int_equal(chown(in_directory("home"), ANOTHER, ANOTHER), 0);
	assert_int_equal(opened(in_directory("home"), 0, NULL, NULL), 0);
	assert_int_equal(opened(in_directory("home"), ADA_DIRECTORY_OURS, NULL, NULL), -EPERM);
	assert_int_equal(opened(in_directory("home/cache"), ADA_DIRECTORY_MAKE | ADA_DIRECTORY_OURS, NULL, NULL), -EPERM);
	assert_int_equal(access(in_directory("home/cache"), F_OK), -1);
	assert_int_equal(opened(in_directory("home/traces"), ADA_DIRECTORY_MAKE, NULL, NULL), 0);
	assert_int_equal(opened(in_directory("own/cache"), ADA_DIRECTORY_MAKE | ADA_DIRECTORY_OURS, NULL, NULL), 0);
}

/* By the descriptor, after its owner has moved it away and laid a link in its place. */
static void test_what_is_made_stays_where_it_was_opened(void **state)
{
	char place[ADA_DIRECTORY_PATH_BYTES], path[PATH_MAX], shown[PATH_MAX], moved[PATH_MAX];
	int parent = ada_directory_open(directory, 0, NULL, NULL), fd;

	assert_true(parent >= 0);
	fd = ada_directory_add(parent, "session");
	assert_true(fd >= 0);
	assert_int_equal(ada_directory_add(parent, "session"), -EEXIST);
	ada_directory_path(fd, place);
	snprintf(moved, sizeof moved, "%s", in_directory("moved"));
	assert_int_equal(rename(in_directory("session"), moved), 0);
	assert_int_equal(symlink("/nowhere", in_directory("session")), 0);
	snprintf(path, sizeof path, "%s/file", place);
	assert_int_equal(ada_file_replace(path, "x", 1, NULL), 0);
	assert_int_equal(access(in_directory("moved/file"), F_OK), 0);
	snprintf(moved, sizeof moved, "%s", in_directory("moved/file"));
	assert_string_equal(ada_directory_shown(path, shown), moved);
	assert_string_equal(ada_directory_shown("/proc/self/fdx", shown), "/proc/self/fdx");
	assert_string_equal(ada_directory_shown("/tmp/x", shown), "/tmp/x");
	close(fd);
	close(parent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_with_parents),
		cmocka_unit_test(test_own_links),
		cmocka_unit_test(test_links_of_another_user),
		cmocka_unit_test(test_directories_of_another_user),
		cmocka_unit_test(test_what_is_made_stays_where_it_was_opened),
	};

	return cmocka_run_group_tests_name("directory", tests, setup, teardown);
}
