/* src/cli/screen/sheet.c: what is printed, as lines. */
#include "cli/screen/sheet.h"
#include "../test.h"

static void test_lines(void **state)
{
	struct ada_sheet sheet = {};

	assert_int_equal(ada_sheet_begin(&sheet), 0);
	ada_output_string(&sheet.output, "one\n\nthree\nlast");
	assert_int_equal(ada_sheet_end(&sheet), 0);
	assert_int_equal(sheet.lines.count, 4);
	assert_string_equal(ada_sheet_line(&sheet, 0), "one");
	assert_string_equal(ada_sheet_line(&sheet, 1), "");
	assert_string_equal(ada_sheet_line(&sheet, 3), "last");
	assert_string_equal(ada_sheet_line(&sheet, 4), "");
	ada_sheet_close(&sheet);
}

static void test_again_and_again(void **state)
{
	struct ada_sheet sheet = {};

	for (int i = 0; i < 3; i++) {
		assert_int_equal(ada_sheet_begin(&sheet), 0);
		for (int line = 0; line < 50000 - 20000 * i; line++)
			ada_output_format(&sheet.output, "line %d of %d\n", line, i);
		assert_int_equal(ada_sheet_end(&sheet), 0);
		assert_int_equal(sheet.lines.count, 50000 - 20000 * i);
	}
	assert_string_equal(ada_sheet_line(&sheet, 9999), "line 9999 of 2");
	assert_int_equal(ada_sheet_begin(&sheet), 0);
	assert_int_equal(ada_sheet_end(&sheet), 0);
	assert_int_equal(sheet.lines.count, 0);
	ada_sheet_close(&sheet);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_again_and_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
