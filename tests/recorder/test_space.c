/* Pools that fit into a process's limit of address space. */
#include "../test.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "recorder/process/space.h"

#define MIB (1ull << 20)

static struct ada_segment_options defaults(void)
{
	return (struct ada_segment_options){ .index_buffer_bytes = 64 * MIB, .detail_buffer_bytes = 64 * MIB, .detail_stack_bytes = 128 };
}

static void no_limit_changes_nothing(void **state)
{
	struct ada_segment_options options = defaults();
	struct ada_error error = { "" };

	assert_int_equal(ada_space_fit(&options, UINT64_MAX, &error), 0);
	assert_int_equal(options.index_buffer_bytes, 64 * MIB);
	assert_int_equal(options.detail_buffer_bytes, 64 * MIB);
}

static void takes_a_third_at_most(void **state)
{
	for (uint64_t left = 64 * MIB; left < 1024 * MIB; left += 7 * MIB) {
		struct ada_segment_options options = defaults();
		struct ada_error error = { "" };
		int status = ada_space_fit(&options, left, &error);

		if (status) {
			assert_int_equal(status, -ENOMEM);
			assert_true(*error.text);
			assert_true(left < 256 * MIB);
		} else {
			assert_true(ada_segment_bytes(&options) <= left / 3);
			assert_true(options.index_buffer_bytes >= ADA_INDEX_BUFFER_MIN);
		}
	}
}

static void asks_the_process(void **state)
{
	struct rlimit limit = { 512 * MIB, 512 * MIB };
	pid_t pid;

	assert_true(ada_space_left(getpid()) == UINT64_MAX);
	pid = fork();
	if (!pid)
		for (;;)
			pause();
	assert_int_equal(prlimit(pid, RLIMIT_AS, &limit, NULL), 0);
	assert_true(ada_space_left(pid) < 512 * MIB);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(no_limit_changes_nothing), cmocka_unit_test(takes_a_third_at_most),
					    cmocka_unit_test(asks_the_process) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
