#include <string.h>
#include "base/hash.h"
#include "../test.h"

static void test_hash_tells_bytes_and_lengths_apart(void **state)
{
	static const char zeros[64];
	struct ada_table seen = { 0 };
	uint64_t length;

	for (size_t i = 0; i < sizeof zeros; i++) {
		assert_false(ada_table_get(&seen, ada_hash_bytes(zeros, i), &length));
		assert_int_equal(ada_table_put(&seen, ada_hash_bytes(zeros, i), i), 0);
	}
	ada_table_free(&seen);
	assert_int_equal(ada_hash_bytes("abcdefghij", 10), ada_hash_bytes("abcdefghij", 10));
	assert_true(ada_hash_bytes("abcdefghij", 10) != ada_hash_bytes("abcdefghik", 10));
	assert_true(ada_hash_bytes("abcdefghij", 10) != ada_hash_bytes("bbcdefghij", 10));
}

/* One flipped bit anywhere changes about half of the hash: between a quarter and three quarters, always. */
static void test_every_bit_counts(void **state)
{
	uint8_t bytes[24] = "flight recorder, native";

	for (size_t bit = 0; bit < sizeof bytes * 8; bit++) {
		uint64_t before = ada_hash_bytes(bytes, sizeof bytes);
		int changed;

		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		changed = __builtin_popcountll(before ^ ada_hash_bytes(bytes, sizeof bytes));
		assert_in_range(changed, 12, 52);
	}
}

static void test_table_keeps_what_is_put(void **state)
{
	struct ada_table table = { 0 };
	uint64_t value = 42;

	assert_false(ada_table_get(&table, 0, &value));
	for (uint64_t i = 0; i < 5000; i++)
		assert_int_equal(ada_table_put(&table, i << 32, i), 0);
	for (uint64_t i = 0; i < 5000; i += 2)
		assert_int_equal(ada_table_put(&table, i << 32, i + 1000000), 0);
	assert_int_equal(table.count, 5000);
	for (uint64_t i = 0; i < 5000; i++) {
		assert_true(ada_table_get(&table, i << 32, &value));
		assert_int_equal(value, i % 2 ? i : i + 1000000);
		assert_false(ada_table_get(&table, (i << 32) + 1, &value));
	}
	ada_table_free(&table);
	assert_int_equal(table.count, 0);
	assert_false(ada_table_get(&table, 0, &value));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hash_tells_bytes_and_lengths_apart),
		cmocka_unit_test(test_every_bit_counts),
		cmocka_unit_test(test_table_keeps_what_is_put),
	};

	return cmocka_run_group_tests_name("hash", tests, NULL, NULL);
}
