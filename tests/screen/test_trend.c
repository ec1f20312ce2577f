/* src/cli/live/trend.c: how often functions were called at the last looks. */
#include "cli/live/trend.h"
#include "../test.h"

static void expect(const struct ada_trend *trend, uint64_t identity, const uint64_t *numbers, size_t count)
{
	uint64_t got[ADA_TREND_LOOKS];

	assert_int_equal(ada_trend_get(trend, identity, got), count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(got[i], numbers[i]);
}

static void test_looks(void **state)
{
	struct ada_trend trend = {};

	expect(&trend, 7, NULL, 0);
	ada_trend_begin(&trend);
	ada_trend_tell(&trend, 7, 10);
	ada_trend_begin(&trend);
	ada_trend_tell(&trend, 8, 20);
	ada_trend_begin(&trend);
	ada_trend_tell(&trend, 7, 30);
	expect(&trend, 7, (const uint64_t[]){ 10, 0, 30 }, 3);
	expect(&trend, 8, (const uint64_t[]){ 0, 20, 0 }, 3);
	expect(&trend, 9, (const uint64_t[]){ 0, 0, 0 }, 3);
	ada_trend_forget(&trend);
	expect(&trend, 7, NULL, 0);
	ada_trend_begin(&trend);
	expect(&trend, 7, (const uint64_t[]){ 0 }, 1);
	ada_trend_forget(&trend);
}

static void test_old_looks_go(void **state)
{
	uint64_t wanted[ADA_TREND_LOOKS] = {};
	struct ada_trend trend = {};

	for (uint64_t look = 1; look <= 3 * ADA_TREND_LOOKS; look++) {
		ada_trend_begin(&trend);
		ada_trend_tell(&trend, 1, look);
		if (look == 1)
			ada_trend_tell(&trend, 2, 5);
	}
	for (uint64_t i = 0; i < ADA_TREND_LOOKS; i++)
		wanted[i] = 2 * ADA_TREND_LOOKS + 1 + i;
	expect(&trend, 1, wanted, ADA_TREND_LOOKS);
	expect(&trend, 2, (const uint64_t[ADA_TREND_LOOKS]){}, ADA_TREND_LOOKS);
	ada_trend_tell(&trend, 2, 9); /* seen again, after more looks than are kept */
	expect(&trend, 2, (const uint64_t[ADA_TREND_LOOKS]){ [ADA_TREND_LOOKS - 1] = 9 }, ADA_TREND_LOOKS);
	ada_trend_forget(&trend);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_looks),
		cmocka_unit_test(test_old_looks_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
