/* src/cli/screen/spark.c: small pictures of numbers. */
#include "cli/screen/spark.h"
#include <string.h>
#include "base/output.h"
#include "../test.h"

static void expect(const uint64_t *numbers, size_t count, bool utf8, const char *picture)
{
	char text[ADA_SPARK_TEXT];

	assert_string_equal(ada_spark(numbers, count, utf8, text), picture);
}

static void test_heights(void **state)
{
	static const uint64_t rising[] = { 0, 1, 2, 3, 4, 5, 6, 7 }, tiny[] = { 1, 1000000000000, 0 }, flat[] = { 5, 5 }, none[] = { 0, 0 },
			      huge[] = { UINT64_MAX, UINT64_MAX / 2 };

	expect(rising, 8, true, " ▂▃▄▅▆▇█");
	expect(rising, 8, false, " :-=+*%#");
	expect(tiny, 3, true, "▁█ ");
	expect(tiny, 3, false, ".# ");
	expect(flat, 2, false, "##");
	expect(none, 2, true, "  ");
	expect(huge, 2, false, "#+");
	expect(rising, 0, true, "");
}

static void test_the_newest_have_room(void **state)
{
	uint64_t numbers[2 * ADA_SPARK_MAX] = {};
	char text[ADA_SPARK_TEXT];

	numbers[0] = 100;
	numbers[2 * ADA_SPARK_MAX - 1] = 1;
	ada_spark(numbers, 2 * ADA_SPARK_MAX, true, text);
	assert_int_equal(ada_output_width(text), ADA_SPARK_MAX);
	assert_string_equal(text + ADA_SPARK_MAX - 1, "█");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_heights),
		cmocka_unit_test(test_the_newest_have_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
