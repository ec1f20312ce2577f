/* What is the agent's is noted and given out in order; and what the kernel is told of a limit is what the program asks for and that. */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include "agent/ground/space.h"
#include "agent/ground/sys.h"
#include "../../test.h"

#define COUNT 3000
#define MIB (1ull << 20)

static uint64_t start_of(unsigned number)
{
	return 0x100000000ull + number * 7919ull % 30011 * 65536;
}

static size_t noted(struct ada_range *ranges, size_t most)
{
	size_t count = ada_space_ranges(ranges, most);

	for (size_t i = 1; i < count; i++)
		assert_true(ranges[i].start >= ranges[i - 1].end);
	return count;
}

static void test_ranges(void **state)
{
	static struct ada_range ranges[2 * COUNT];
	size_t before;

	for (unsigned i = 0; i < COUNT; i++) {
		ada_space_expect(100);
		ada_space_note(start_of(i), 100);
	}
	before = noted(ranges, 2 * COUNT);
	assert_true(before >= COUNT && before == ada_space_ranges(NULL, 0));
	for (size_t i = 0; i < before; i++)
		assert_int_equal(ranges[i].end & 4095, 0);
	for (unsigned i = 0; i < COUNT; i += 2)
		ada_space_forget(start_of(i), 100);
	assert_int_equal(noted(ranges, 2 * COUNT), before - COUNT / 2);
	assert_int_equal(noted(ranges, 10), 10);
	for (unsigned i = 1; i < COUNT; i += 2)
		ada_space_forget(start_of(i), 100);
	assert_int_equal(noted(ranges, 2 * COUNT), before - COUNT);
}

static void test_a_mapping(void **state)
{
	static struct ada_range ranges[64];
	size_t before = noted(ranges, 64);
	char *memory = ada_sys_map(5000);

	assert_non_null(memory);
	assert_int_equal(noted(ranges, 64), before + 1);
	ada_sys_unmap(memory, 5000);
	assert_int_equal(noted(ranges, 64), before);
}

/* A mapping of which everything is locked is not, and is not filled. */
static void test_locked_future(void **state)
{
	unsigned char page;
	char *memory;

	assert_false(ada_sys_future_locked(true));
	memory = ada_sys_map(4096);
	assert_non_null(memory);
	assert_int_equal(mincore(memory, 4096, &page), 0);
	assert_int_equal(page & 1, 0);
	memory[0] = 1;
	ada_sys_unmap(memory, 4096);
	assert_true(ada_sys_future_locked(false));
}

static void limit_put(const struct rlimit *asked)
{
	struct rlimit kernel;

	assert_true(ada_space_limit_dress(asked, &kernel));
	assert_int_equal(setrlimit(RLIMIT_AS, &kernel), 0);
	ada_space_limit_is(asked);
}

static void test_limit(void **state)
{
	struct rlimit before, now, kernel, asked = { 4096 * MIB, 8192 * MIB };
	void *memory;

	assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
	if (before.rlim_max != RLIM_INFINITY)
		test_skip("needs no hard limit of address space");
	limit_put(&asked);
	assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
	assert_true(before.rlim_cur > asked.rlim_cur && before.rlim_max > asked.rlim_max);
	memory = ada_sys_map(16 * MIB);
	assert_int_equal(getrlimit(RLIMIT_AS, &now), 0);
	assert_int_equal(now.rlim_cur - before.rlim_cur, 16 * MIB);
	assert_int_equal(now.rlim_max, before.rlim_max);
	ada_space_limit_undress(&now);
	assert_memory_equal(&now, &asked, sizeof now);
	asked.rlim_cur = asked.rlim_max; /* the hard one stays what the kernel has */
	limit_put(&asked);
	ada_sys_unmap(memory, 16 * MIB);
	assert_int_equal(getrlimit(RLIMIT_AS, &now), 0);
	assert_int_equal(now.rlim_max, before.rlim_max);
	/* More than it had, though less than the kernel has */
	asked.rlim_max += 4096;
	assert_true(ada_space_limit_dress(&asked, &kernel));
	assert_true(kernel.rlim_max > before.rlim_max);
	assert_false(ada_space_limit_dress(&(struct rlimit){ 2, 1 }, &kernel));
	/* From outside */
	assert_int_equal(setrlimit(RLIMIT_AS, &(struct rlimit){ 2048 * MIB, 2048 * MIB }), 0);
	assert_int_equal(getrlimit(RLIMIT_AS, &now), 0);
	ada_space_limit_undress(&now);
	assert_int_equal(now.rlim_max, 2048 * MIB);
	assert_false(ada_space_limit_lend());
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_ranges), cmocka_unit_test(test_a_mapping),
					    cmocka_unit_test(test_locked_future), cmocka_unit_test(test_limit) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
