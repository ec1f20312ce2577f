/* What sampled rules go by: memory of machine and cgroup from files made up here. */
#include "../test.h"
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/file.h"
#include "base/clock.h"
#include "recorder/host/usage.h"

static char root[] = "/tmp/ada-usage-XXXXXX";

static void put(const char *name, const char *text)
{
	char path[PATH_MAX], command[PATH_MAX + 32];
	FILE *file;

	assert_int_equal(ada_path(path, "%s/%s", root, name), 0);
	snprintf(command, sizeof command, "mkdir -p $(dirname %s)", path);
	assert_int_equal(system(command), 0);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int make_root(void **state)
{
	snprintf(root, sizeof root, "/tmp/ada-usage-XXXXXX");
	if (!mkdtemp(root))
		return -1;
	put("proc/meminfo", "MemTotal:       1000 kB\nMemFree: 100 kB\nMemAvailable:    400 kB\n");
	return 0;
}

static int remove_root(void **state)
{
	char command[PATH_MAX];

	snprintf(command, sizeof command, "rm -r %s", root);
	return system(command);
}

static void expect_share(double expected)
{
	double share = -1;

	assert_true(ada_usage_memory_share(root, 7, &share));
	assert_true(fabs(share - expected) < 1e-9);
}

static void test_machine(void **state)
{
	expect_share(0.6);
}

static void test_group_v2(void **state)
{
	put("proc/7/cgroup", "0::/a/b\n");
	put("sys/fs/cgroup/a/b/memory.max", "1000\n");
	put("sys/fs/cgroup/a/b/memory.current", "900\n");
	put("sys/fs/cgroup/a/b/memory.stat", "anon 5\ninactive_file 100\nfile 7\n");
	expect_share(0.8);
	put("sys/fs/cgroup/a/b/memory.current", "300\n"); /* the machine is fuller */
	expect_share(0.6);
}

static void test_group_without_limit(void **state)
{
	put("proc/7/cgroup", "0::/a/b\n");
	put("sys/fs/cgroup/a/b/memory.max", "max\n");
	put("sys/fs/cgroup/a/b/memory.current", "900\n");
	expect_share(0.6);
	put("sys/fs/cgroup/a/memory.max", "1000\n"); /* the one above has one */
	put("sys/fs/cgroup/a/memory.current", "950\n");
	expect_share(0.95);
}

static void test_group_v1(void **state)
{
	put("proc/7/cgroup", "3:cpu:/x\n2:memory:/y\n0::/\n");
	put("sys/fs/cgroup/memory/y/memory.limit_in_bytes", "9223372036854771712\n");
	put("sys/fs/cgroup/memory/y/memory.usage_in_bytes", "900\n");
	expect_share(0.6);
	put("sys/fs/cgroup/memory/y/memory.limit_in_bytes", "1000\n");
	expect_share(0.9);
}

static void test_nonsense(void **state)
{
	double share;

	put("proc/meminfo", "");
	assert_false(ada_usage_memory_share(root, 7, &share));
	put("proc/meminfo", "MemTotal: x\nMemAvailable: y\n");
	assert_false(ada_usage_memory_share(root, 7, &share));
	put("proc/7/cgroup", "::\n:\n\nmemory\n");
	assert_false(ada_usage_memory_share(root, 7, &share));
}

static void test_own_process(void **state)
{
	uint64_t bytes = 0, first = 0, later = 0;

	assert_true(ada_usage_resident_bytes(getpid(), &bytes));
	assert_in_range(bytes, 100000, 1ull << 34);
	assert_true(ada_clock_process_ns(getpid(), &first));
	for (volatile int i = 0; i < 1000000;)
		i++;
	assert_true(ada_clock_process_ns(getpid(), &later));
	assert_true(later > first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_machine, make_root, remove_root),
		cmocka_unit_test_setup_teardown(test_group_v2, make_root, remove_root),
		cmocka_unit_test_setup_teardown(test_group_without_limit, make_root, remove_root),
		cmocka_unit_test_setup_teardown(test_group_v1, make_root, remove_root),
		cmocka_unit_test_setup_teardown(test_nonsense, make_root, remove_root),
		cmocka_unit_test(test_own_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
