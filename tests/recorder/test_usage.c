/* What sampled rules go by: memory of machine and cgroup from files made up here, and intervals of the day. */
#include "../test.h"
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "base/file.h"
#include "recorder/host/usage.h"

#define MINUTE 60ull
#define HOUR 3600ull
#define SECOND_NS 1000000000ull

static char root[] = "/tmp/ada-usage-XXXXXX";

static void put(const char *name, const char *text)
{
	char path[PATH_MAX], command[PATH_MAX + 32];
	assert_int_equal(ada_path(path, "%s/%s", root, name), 0);
	snprintf(command, sizeof command, "mkdir -p $(dirname %s)", path);
	assert_int_equal(system(command), 0);
	FILE *file = fopen(path, "w");
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
	assert_true(ada_usage_cpu_ns(getpid(), &first));
	for (volatile int i = 0; i < 1000000;)
		i++;
	assert_true(ada_usage_cpu_ns(getpid(), &later));
	assert_true(later > first);
}

/* Of 2 March 2026, in the zone that TZ names. */
static uint64_t at(int hour, int minute)
{
	struct tm local = { .tm_year = 126, .tm_mon = 2, .tm_mday = 2, .tm_hour = hour, .tm_min = minute, .tm_isdst = -1 };
	return (uint64_t)mktime(&local) * SECOND_NS;
}

static void test_interval(void **state)
{
	setenv("TZ", "Europe/Berlin", 1);
	tzset();
	uint32_t from = 10 * 60 + 30, to = 10 * 60 + 45;
	assert_int_equal(ada_usage_interval_ns(from, to, at(10, 29)), 0);
	assert_int_equal(ada_usage_interval_ns(from, to, at(10, 30)), 15 * MINUTE * SECOND_NS);
	assert_int_equal(ada_usage_interval_ns(from, to, at(10, 44) + SECOND_NS / 2), MINUTE * SECOND_NS - SECOND_NS / 2);
	assert_int_equal(ada_usage_interval_ns(from, to, at(10, 45)), 0);
}

static void test_over_midnight(void **state)
{
	uint32_t from = 23 * 60 + 50, to = 10;
	assert_int_equal(ada_usage_interval_ns(from, to, at(23, 49)), 0);
	assert_int_equal(ada_usage_interval_ns(from, to, at(23, 50)), 20 * MINUTE * SECOND_NS);
	assert_int_equal(ada_usage_interval_ns(from, to, at(0, 5)), 5 * MINUTE * SECOND_NS);
	assert_int_equal(ada_usage_interval_ns(from, to, at(0, 10)), 0);
	assert_int_equal(ada_usage_interval_ns(from, to, at(12, 0)), 0);
}

/* On 29 March 2026 Berlin's clocks go from 2 to 3: an interval from 1 to 4 lasts two hours. */
static void test_the_day_of_23_hours(void **state)
{
	struct tm local = { .tm_year = 126, .tm_mon = 2, .tm_mday = 29, .tm_hour = 1, .tm_isdst = -1 };
	if (access("/usr/share/zoneinfo/Europe/Berlin", R_OK))
		test_skip("needs the time zones of tzdata");
	setenv("TZ", "Europe/Berlin", 1);
	tzset();
	assert_int_equal(ada_usage_interval_ns(60, 240, (uint64_t)mktime(&local) * SECOND_NS), 2 * HOUR * SECOND_NS);
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
		cmocka_unit_test(test_interval),
		cmocka_unit_test(test_over_midnight),
		cmocka_unit_test(test_the_day_of_23_hours),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
