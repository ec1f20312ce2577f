/* What /proc and control groups tell: of this thread, and of made-up groups of both generations. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "../test.h"
#include "recorder/sched/count.h"

static void put(const char *directory, const char *name, const char *text)
{
	char path[200];
	FILE *file;

	snprintf(path, sizeof path, "%s/%s", directory, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void make(const char *directory, const char *name)
{
	char path[200];

	snprintf(path, sizeof path, "%s/%s", directory, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static void test_a_thread(void **state)
{
	int tasks = open("/proc/self/task", O_RDONLY | O_DIRECTORY);
	struct ada_thread_counts before, after;
	pid_t tid = (pid_t)syscall(SYS_gettid);
	char *fresh;

	if (!ada_count_time(tasks, tid, &before)) {
		close(tasks);
		skip(); /* this kernel counts no run-queue delay */
	}
	assert_true(ada_count_faults(tasks, tid, &before));
	fresh = calloc(1, 64 << 20);
	for (size_t i = 0; i < 64 << 20; i += 4096)
		((volatile char *)fresh)[i] = 1;
	do /* the kernel may bring it up to date by its tick only */
		assert_true(ada_count_time(tasks, tid, &after) && ada_count_faults(tasks, tid, &after));
	while (after.ran_ns == before.ran_ns);
	assert_true(after.ran_ns > before.ran_ns && after.minor + after.major > before.minor + before.major);
	assert_true(after.cpu < sysconf(_SC_NPROCESSORS_CONF));
	assert_false(ada_count_time(tasks, 1 << 30, &after) || ada_count_faults(tasks, 1 << 30, &after));
	free(fresh);
	close(tasks);
}

static void test_groups_up_to_the_root(void **state)
{
	char directory[] = "/tmp/ada-count-XXXXXX", command[100];
	struct ada_groups groups;

	assert_non_null(mkdtemp(directory));
	make(directory, "self");
	put(directory, "self/cgroup", "3:cpu,cpuacct:/x\n2:memory:/m\n0::/a/b\n");
	make(directory, "a");
	make(directory, "a/b");
	put(directory, "a/b/cpu.stat", "usage_usec 5\nthrottled_usec 7\n");
	put(directory, "a/cpu.stat", "nr_throttled 1\nthrottled_usec 20\n");
	make(directory, "cpu,cpuacct");
	make(directory, "cpu,cpuacct/x");
	put(directory, "cpu,cpuacct/x/cpu.stat", "nr_periods 3\nthrottled_time 100\n");
	ada_groups_open(&groups, directory, directory);
	assert_int_equal(groups.count, 3);
	assert_int_equal(ada_groups_throttled(&groups), 27100);
	put(directory, "a/b/cpu.stat", "usage_usec 9\nthrottled_usec 10\n"); /* as the kernel does: the open file says what is true now */
	assert_int_equal(ada_groups_throttled(&groups), 30100);
	ada_groups_close(&groups);
	ada_groups_open(&groups, "/nowhere", directory);
	assert_int_equal(ada_groups_throttled(&groups), 0);
	ada_groups_close(&groups);
	snprintf(command, sizeof command, "rm -r %s", directory);
	assert_int_equal(system(command), 0);
}

static void test_stolen_time(void **state)
{
	uint64_t stolen_ns[1024];
	size_t cpus = ada_count_stolen(stolen_ns, 1024);

	assert_true(cpus >= 1 && cpus <= (size_t)sysconf(_SC_NPROCESSORS_CONF));
	assert_true(ada_count_stolen(stolen_ns, 1) == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_thread),
		cmocka_unit_test(test_groups_up_to_the_root),
		cmocka_unit_test(test_stolen_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
