#include <errno.h>
#include "base/array.h"
#include "../test.h"

static void test_push_keeps_every_item(void **state)
{
	ADA_ARRAY(uint64_t) array = { 0 };

	for (uint64_t i = 0; i < 10000; i++)
		assert_int_equal(ada_array_push(&array, i * i), 0);
	assert_int_equal(array.count, 10000);
	assert_true(array.capacity >= 10000);
	for (uint64_t i = 0; i < 10000; i++)
		assert_int_equal(array.items[i], i * i);
	ada_array_free(&array);
	assert_null(array.items);
	assert_int_equal(array.count, 0);
	assert_int_equal(array.capacity, 0);
}

static void test_push_takes_an_initialiser(void **state)
{
	struct pair {
		int a, b;
	};
	ADA_ARRAY(struct pair) array = { 0 };

	assert_int_equal(ada_array_push(&array, (struct pair){ 3, 4 }), 0);
	assert_int_equal(array.items[0].a, 3);
	assert_int_equal(array.items[0].b, 4);
	ada_array_free(&array);
}

static void test_too_large_is_refused_and_harmless(void **state)
{
	ADA_ARRAY(uint64_t) array = { 0 };

	assert_int_equal(ada_array_push(&array, 7), 0);
	assert_int_equal(ada_array_reserve(&array, SIZE_MAX / 8), -ENOMEM);
	assert_int_equal(array.count, 1);
	assert_int_equal(array.items[0], 7);
	ada_array_free(&array);
}

static void test_below_counts_what_is_smaller(void **state)
{
	struct place {
		uint32_t other;
		uint64_t address;
	};
	ADA_ARRAY(struct place) array = { 0 };
	static const uint64_t addresses[] = { 10, 20, 20, 30, UINT64_MAX };

	assert_int_equal(ada_array_below(&array, address, 5), 0);
	for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++)
		assert_int_equal(ada_array_push(&array, (struct place){ 99, addresses[i] }), 0);
	assert_int_equal(ada_array_below(&array, address, 0), 0);
	assert_int_equal(ada_array_below(&array, address, 10), 0);
	assert_int_equal(ada_array_below(&array, address, 11), 1);
	assert_int_equal(ada_array_below(&array, address, 20), 1);
	assert_int_equal(ada_array_below(&array, address, 21), 3);
	assert_int_equal(ada_array_below(&array, address, UINT64_MAX), 4);
	ada_array_free(&array);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_push_keeps_every_item),
		cmocka_unit_test(test_push_takes_an_initialiser),
		cmocka_unit_test(test_below_counts_what_is_smaller),
		cmocka_unit_test(test_too_large_is_refused_and_harmless),
	};

	return cmocka_run_group_tests_name("array", tests, NULL, NULL);
}
