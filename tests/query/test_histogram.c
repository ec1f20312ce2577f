/* Percentiles against exact ones, over distributions known by construction. */
#include <stdlib.h>
#include "../test.h"
#include "query/tally/histogram.h"

static int compare(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

/* Nearest rank over the sorted values: the definition itself. */
static uint64_t exact(const uint64_t *sorted, uint64_t count, unsigned int permille)
{
	uint64_t rank = (count * permille + 999) / 1000;

	return sorted[rank ? rank - 1 : 0];
}

static void check(uint64_t *values, uint64_t count)
{
	static const unsigned int permilles[] = { 0, 1, 500, 900, 990, 999, 1000 };
	struct ada_histogram histogram = {};

	for (uint64_t i = 0; i < count; i++)
		assert_int_equal(ada_histogram_add(&histogram, values[i]), 0);
	qsort(values, count, sizeof *values, compare);
	assert_int_equal(histogram.count, count);
	assert_int_equal(histogram.min, values[0]);
	assert_int_equal(histogram.max, values[count - 1]);
	for (size_t i = 0; i < sizeof permilles / sizeof *permilles; i++) {
		uint64_t want = exact(values, count, permilles[i]), got = ada_histogram_percentile(&histogram, permilles[i]);
		uint64_t off = got > want ? got - want : want - got;

		if (off > want / 100)
			fail_msg("permille %u: %lu is not within 1 %% of %lu", permilles[i], got, want);
	}
	ada_histogram_free(&histogram);
}

static void test_small_values_are_exact(void **state)
{
	struct ada_histogram histogram = {};

	for (uint64_t value = 0; value < 128; value++)
		ada_histogram_add(&histogram, value);
	assert_int_equal(ada_histogram_percentile(&histogram, 500), 63);
	assert_int_equal(ada_histogram_percentile(&histogram, 1000), 127);
	assert_int_equal(histogram.sum, 127 * 64);
	ada_histogram_free(&histogram);
}

static void test_within_one_percent(void **state)
{
	enum { COUNT = 20000 };
	static uint64_t values[COUNT];
	uint64_t random = 1;

	for (unsigned int shift = 0; shift < 64; shift += 9) {
		for (size_t i = 0; i < COUNT; i++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			values[i] = random >> shift;
		}
		check(values, COUNT);
	}
	/* Over all magnitudes at once */
	for (size_t i = 0; i < COUNT; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		values[i] = (random >> 8) >> (random & 31);
	}
	check(values, COUNT);
}

static void test_ranks(void **state)
{
	struct ada_histogram histogram = {};

	for (uint64_t i = 1; i <= 100; i++)
		assert_int_equal(ada_histogram_add(&histogram, i * 10), 0);
	assert_int_equal(ada_histogram_rank(&histogram, 5), 1); /* the smallest rank there is */
	assert_in_range(ada_histogram_rank(&histogram, 500), 490, 510);
	assert_in_range(ada_histogram_rank(&histogram, 990), 980, 1000);
	assert_int_equal(ada_histogram_rank(&histogram, 5000), 1000);
	ada_histogram_free(&histogram);
}

static void test_extremes(void **state)
{
	check((uint64_t[]){ UINT64_MAX }, 1);
	check((uint64_t[]){ 0 }, 1);
	check((uint64_t[]){ 0, UINT64_MAX }, 2);
	for (unsigned int bit = 0; bit < 64; bit++)
		check((uint64_t[]){ 1ull << bit, (1ull << bit) - 1, (1ull << bit) + 1 }, 3);
}

/* The lowest and the highest value of each bucket there is. */
static void test_bounds_of_buckets(void **state)
{
	for (unsigned int index = 0; index < ADA_HISTOGRAM_OCTAVES * ADA_HISTOGRAM_BUCKETS; index++) {
		unsigned int octave = index / ADA_HISTOGRAM_BUCKETS, shift = octave ? octave - 1 : 0;
		uint64_t low = (uint64_t)(octave ? ADA_HISTOGRAM_BUCKETS + index % ADA_HISTOGRAM_BUCKETS : index) << shift;
		struct ada_histogram histogram = {};

		assert_int_equal(ada_histogram_add(&histogram, low), 0);
		assert_int_equal(ada_histogram_add(&histogram, low + ((uint64_t)1 << shift) - 1), 0);
		assert_int_equal(ada_histogram_bucket(&histogram, index), 2);
		ada_histogram_free(&histogram);
	}
}

static void test_merge_equals_one(void **state)
{
	struct ada_histogram one = {}, two = {}, both = {};

	for (uint64_t i = 0; i < 1000; i++) {
		ada_histogram_add(i % 3 ? &one : &two, i * i);
		ada_histogram_add(&both, i * i);
	}
	assert_int_equal(ada_histogram_merge(&one, &two), 0);
	assert_int_equal(one.count, both.count);
	assert_int_equal(one.sum, both.sum);
	assert_int_equal(one.min, both.min);
	assert_int_equal(one.max, both.max);
	for (unsigned int permille = 0; permille <= 1000; permille += 10)
		assert_int_equal(ada_histogram_percentile(&one, permille), ada_histogram_percentile(&both, permille));
	ada_histogram_free(&two);
	two = (struct ada_histogram){};
	assert_int_equal(ada_histogram_merge(&one, &two), 0);
	assert_int_equal(one.count, both.count);
	ada_histogram_free(&one);
	ada_histogram_free(&both);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small_values_are_exact),
		cmocka_unit_test(test_within_one_percent),
		cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_ranks),
		cmocka_unit_test(test_bounds_of_buckets),
		cmocka_unit_test(test_merge_equals_one),
	};

	return cmocka_run_group_tests_name("histogram", tests, NULL, NULL);
}
