/* src/cli/live/span.c: how much of a second ada top counts. */
#include "cli/live/span.h"
#include "../test.h"

#define MS 1000000ull
#define MANY 5000000ull

static void test_what_takes_too_long_is_shorter_next(void **state)
{
	assert_int_equal(ada_span_next(1000 * MS, 1000 * MS, 40 * MS, MANY), 500 * MS);
	assert_int_equal(ada_span_next(1000 * MS, 1000 * MS, 20 * MS, MANY), 1000 * MS);
	assert_int_equal(ada_span_next(1000 * MS, 1000 * MS, 1000000 * MS, MANY), 10 * MS);
}

static void test_longer_step_by_step(void **state)
{
	assert_int_equal(ada_span_next(400 * MS, 1000 * MS, 1 * MS, MANY), 500 * MS);
	assert_int_equal(ada_span_next(900 * MS, 1000 * MS, 0, MANY), 1000 * MS);
}

/* Thousands of threads' files take long to open, whatever the span is. */
static void test_few_events_make_no_span_shorter(void **state)
{
	assert_int_equal(ada_span_next(1000 * MS, 1000 * MS, 500 * MS, 100000), 1000 * MS);
	assert_int_equal(ada_span_next(400 * MS, 1000 * MS, 500 * MS, 100000), 500 * MS);
}

/* The recorder may be some 100 ms behind: of a shorter span there is nothing yet, and "0 events/s" would be wrong. */
static void test_without_events_all_of_it(void **state)
{
	assert_int_equal(ada_span_next(10 * MS, 1000 * MS, 30 * MS, 0), 1000 * MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_takes_too_long_is_shorter_next),
		cmocka_unit_test(test_longer_step_by_step),
		cmocka_unit_test(test_few_events_make_no_span_shorter),
		cmocka_unit_test(test_without_events_all_of_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
