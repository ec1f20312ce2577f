#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "../test.h"

static char directory[64];

static const char *in_directory(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof path, "%s/%s", directory, name);
	return path;
}

static int entries(void)
{
	DIR *listing = opendir(directory);
	int count = -2; /* . and .. */

	assert_non_null(listing);
	while (readdir(listing))
		count++;
	closedir(listing);
	return count;
}

static int setup(void **state)
{
	strcpy(directory, "/tmp/ada-test-file-XXXXXX");
	return mkdtemp(directory) ? 0 : -1;
}

static int teardown(void **state)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf %s", directory);
	return system(command);
}

static void test_replace_then_read(void **state)
{
	char expected[100000], *bytes = NULL;
	size_t length = 0;
	struct stat found;

	for (size_t i = 0; i < sizeof expected; i++)
		expected[i] = (char)(i * 7);
	assert_int_equal(ada_file_replace(in_directory("a"), "old", 3, NULL), 0);
	assert_int_equal(ada_file_replace(in_directory("a"), expected, sizeof expected, NULL), 0);
	assert_int_equal(ada_file_read(in_directory("a"), &bytes, &length, NULL), 0);
	assert_int_equal(length, sizeof expected);
	assert_memory_equal(bytes, expected, length);
	assert_int_equal(bytes[length], 0);
	free(bytes);
	assert_int_equal(stat(in_directory("a"), &found), 0);
	assert_int_equal(found.st_mode & 07777, 0600);
	assert_int_equal(entries(), 1);
}

static void test_files_that_lie_about_their_size(void **state)
{
	char *bytes;
	size_t length;

	assert_int_equal(ada_file_read("/proc/self/maps", &bytes, &length, NULL), 0);
	assert_true(length > 100);
	assert_int_equal(strlen(bytes), length);
	free(bytes);
}

static void test_failures_name_the_file(void **state)
{
	struct ada_error error = { { 0 } };
	char *bytes;
	size_t length;

	assert_int_equal(ada_file_read("/nonexistent/x", &bytes, &length, &error), -ENOENT);
	assert_string_equal(error.text, "can't open /nonexistent/x: No such file or directory");
	memset(&error, 0, sizeof error);
	assert_int_equal(ada_file_read("/", &bytes, &length, &error), -EISDIR);
	assert_string_equal(error.text, "can't read /: Is a directory");
	memset(&error, 0, sizeof error);
	assert_int_equal(ada_file_replace("/nonexistent/x", "", 0, &error), -ENOENT);
	assert_string_equal(error.text, "can't write /nonexistent/x: No such file or directory");
}

static void test_failed_replace_leaves_the_old(void **state)
{
	char *bytes;
	size_t length;

	assert_int_equal(mkdir(in_directory("d"), 0700), 0);
	assert_int_equal(ada_file_replace(in_directory("d"), "x", 1, NULL), -EISDIR);
	assert_int_equal(entries(), 2);
	assert_int_equal(ada_file_read(in_directory("d"), &bytes, &length, NULL), -EISDIR);
}

static void test_write_all_reports_a_full_disk(void **state)
{
	int fd = open("/dev/full", O_WRONLY);

	assert_true(fd >= 0);
	assert_int_equal(ada_file_write_all(fd, "x", 1), -ENOSPC);
	close(fd);
}

/* What root writes where others may: a link under the name that the new file might have, and under its own. */
static void test_replace_follows_no_link(void **state)
{
	char victim[PATH_MAX], *bytes;
	size_t length;

	snprintf(victim, sizeof victim, "%s", in_directory("victim"));
	assert_int_equal(ada_file_replace(victim, "mine", 4, NULL), 0);
	assert_int_equal(symlink(victim, in_directory("planted.tmp")), 0);
	assert_int_equal(symlink(victim, in_directory("planted")), 0);
	assert_int_equal(ada_file_replace(in_directory("planted"), "new", 3, NULL), 0);
	assert_int_equal(ada_file_read(victim, &bytes, &length, NULL), 0);
	assert_string_equal(bytes, "mine");
	free(bytes);
	assert_int_equal(ada_file_read(in_directory("planted"), &bytes, &length, NULL), 0);
	assert_string_equal(bytes, "new");
	free(bytes);
}

static void test_paths_that_do_not_fit(void **state)
{
	char path[PATH_MAX], name[PATH_MAX];

	memset(name, 'n', sizeof name);
	name[PATH_MAX - 2] = '\0';
	assert_int_equal(ada_path(path, "%s", name), 0);
	assert_string_equal(path, name);
	assert_int_equal(ada_path(path, "/%s/", name), -ENAMETOOLONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_replace_then_read),
		cmocka_unit_test(test_files_that_lie_about_their_size),
		cmocka_unit_test(test_failures_name_the_file),
		cmocka_unit_test(test_failed_replace_leaves_the_old),
		cmocka_unit_test(test_write_all_reports_a_full_disk),
		cmocka_unit_test(test_replace_follows_no_link),
		cmocka_unit_test(test_paths_that_do_not_fit),
	};

	return cmocka_run_group_tests_name("file", tests, setup, teardown);
}
