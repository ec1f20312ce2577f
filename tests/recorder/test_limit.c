/* What control groups leave of memory: both versions, all levels, and what is no limit. */
#include "../test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "recorder/host/limit.h"

static char root[] = "/tmp/ada-limit-XXXXXX";

static void put(const char *path, const char *text)
{
	char full[256];
	FILE *file;

	snprintf(full, sizeof full, "%s/%s", root, path);
	for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = 0;
		mkdir(full, 0700);
		*slash = '/';
	}
	file = fopen(full, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int begin(void **state)
{
	strcpy(root + strlen(root) - 6, "XXXXXX");
	return !mkdtemp(root);
}

static int end(void **state)
{
	char command[64];

	snprintf(command, sizeof command, "rm -r %s", root);
	return system(command);
}

static void no_groups(void **state)
{
	assert_int_equal(ada_limit_groups_left("", root), UINT64_MAX);
	assert_int_equal(ada_limit_groups_left("0::/a/b\n", root), UINT64_MAX);
	assert_int_equal(ada_limit_groups_left("nonsense\n:\n::\n0:\n", root), UINT64_MAX);
}

static void version_2(void **state)
{
	put("a/b/memory.max", "max\n");
	put("a/b/memory.current", "5000\n");
	assert_int_equal(ada_limit_groups_left("0::/a/b\n", root), UINT64_MAX);
	put("a/memory.max", "100000\n");
	put("a/memory.current", "60000\n");
	assert_int_equal(ada_limit_groups_left("0::/a/b\n", root), 40000);
	assert_int_equal(ada_limit_groups_left("0::/a\n", root), 40000);
	assert_int_equal(ada_limit_groups_left("0::/\n", root), UINT64_MAX);
	put("a/memory.stat", "anon 7\ninactive_file 1000\nactive_file 200\nfile 99\n"); /* the cache goes when it must */
	assert_int_equal(ada_limit_groups_left("0::/a/b\n", root), 41200);
	put("a/b/memory.max", "6000\n");
	assert_int_equal(ada_limit_groups_left("0::/a/b\n", root), 1000);
	put("a/b/memory.current", "7000\n");
	assert_int_equal(ada_limit_groups_left("0::/a/b\n", root), 0);
}

static void version_1(void **state)
{
	const char *groups = "5:cpu,cpuacct:/x\n4:hugetlb,memory:/c\n0::/\n";

	put("memory/c/memory.limit_in_bytes", "9223372036854771712\n");
	put("memory/c/memory.usage_in_bytes", "100\n");
	assert_int_equal(ada_limit_groups_left(groups, root), UINT64_MAX);
	put("memory/c/memory.limit_in_bytes", "1000\n");
	put("memory/c/memory.stat", "inactive_file 50\ntotal_inactive_file 30\ntotal_active_file 20\n");
	assert_int_equal(ada_limit_groups_left(groups, root), 950);
	assert_int_equal(ada_limit_groups_left("4:notmemory,memoryless:/c\n", root), UINT64_MAX);
}

/* Here and now: never more than there is, and less the more is used. */
static void room(void **state)
{
	uint64_t none = ada_limit_room(getpid(), 0);

	assert_true(none < (uint64_t)sysconf(_SC_PHYS_PAGES) * 4096);
	assert_true(ada_limit_room(getpid(), 1ull << 50) <= (uint64_t)sysconf(_SC_PHYS_PAGES) * 4096);
}

/* A child has its parent's groups. Who can't be asked, for there is no such process, shares nothing. */
static void shared(void **state)
{
	pid_t child = fork();

	if (!child)
		for (;;)
			pause();
	assert_true(ada_limit_is_shared(getpid()));
	assert_true(ada_limit_is_shared(child));
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_false(ada_limit_is_shared(child));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test_setup_teardown(no_groups, begin, end),
					    cmocka_unit_test_setup_teardown(version_2, begin, end),
					    cmocka_unit_test_setup_teardown(version_1, begin, end), cmocka_unit_test(room),
					    cmocka_unit_test(shared) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
