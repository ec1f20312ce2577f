#include <errno.h>
#include <string.h>
#include "base/units.h"
#include "../test.h"

static void test_durations(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} cases[] = { { "300ns", 300 },
		      { "1.5us", 1500 },
		      { "50ms", 50000000 },
		      { "5s", 5000000000 },
		      { "0.1s", 100000000 },
		      { "2m", 120000000000 },
		      { "1h", 3600000000000 },
		      { "0s", 0 },
		      { "1.9ns", 1 },
		      { "18446744073709551615ns", UINT64_MAX },
		      { "0.00000000000000000001s", 0 },
		      { "1.000000001s", 1000000001 } };
	static const char *const wrong[] = { "", "5", "s", "5 s", "-5s", "+5s", "1.s", ".5s", "5ss", "1e3s", "5S", "0x5s", "5s\n" };
	static const char *const large[] = { "18446744073709551616ns", "99999999999999999999999s", "5124096h", "18446744073709551615s" };

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct ada_error error = { { 0 } };
		uint64_t ns = 1;

		assert_int_equal(ada_parse_duration(cases[i].text, &ns, &error), 0);
		assert_int_equal(ns, cases[i].ns);
		assert_string_equal(error.text, "");
	}
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		uint64_t ns = 77;

		assert_int_equal(ada_parse_duration(wrong[i], &ns, NULL), -EINVAL);
		assert_int_equal(ns, 77);
	}
	for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
		struct ada_error error = { { 0 } };
		uint64_t ns;

		assert_int_equal(ada_parse_duration(large[i], &ns, &error), -ERANGE);
		assert_non_null(strstr(error.text, large[i]));
	}
}

static void test_sizes(void **state)
{
	struct ada_error error = { { 0 } };
	uint64_t bytes = 0;

	assert_int_equal(ada_parse_size("4096", &bytes, NULL), 0);
	assert_int_equal(bytes, 4096);
	assert_int_equal(ada_parse_size("64K", &bytes, NULL), 0);
	assert_int_equal(bytes, 65536);
	assert_int_equal(ada_parse_size("1.5M", &bytes, NULL), 0);
	assert_int_equal(bytes, 1572864);
	assert_int_equal(ada_parse_size("2GiB", &bytes, NULL), 0);
	assert_int_equal(bytes, 2147483648);
	assert_int_equal(ada_parse_size("16777216T", &bytes, NULL), -ERANGE);
	assert_int_equal(ada_parse_size("64Q", &bytes, &error), -EINVAL);
	assert_string_equal(error.text, "'64Q' is no size: write it like 4096, 64K, 64M or 1G");
	assert_int_equal(bytes, 2147483648);
}

static void test_counts_have_bounds(void **state)
{
	struct ada_error error = { { 0 } };
	uint64_t count = 0;

	assert_int_equal(ada_parse_count("10", 10, 20, &count, NULL), 0);
	assert_int_equal(count, 10);
	assert_int_equal(ada_parse_count("20", 10, 20, &count, NULL), 0);
	assert_int_equal(ada_parse_count("21", 10, 20, &count, &error), -ERANGE);
	assert_string_equal(error.text, "21 is out of range: 10 to 20");
	assert_int_equal(ada_parse_count("9", 10, 20, &count, NULL), -ERANGE);
	assert_int_equal(ada_parse_count("18446744073709551616", 0, UINT64_MAX, &count, NULL), -ERANGE);
	assert_int_equal(ada_parse_count("1.5", 0, 20, &count, NULL), -EINVAL);
	assert_int_equal(ada_parse_count("ten", 0, 20, &count, NULL), -EINVAL);
	assert_int_equal(ada_parse_count("", 0, 20, &count, NULL), -EINVAL);
	assert_int_equal(count, 20);
}

static void test_times(void **state)
{
	struct ada_error error = {};
	uint64_t ns = 0;

	assert_int_equal(ada_parse_time("+1.5s", 1000, &ns, NULL), 0);
	assert_int_equal(ns, 1500001000);
	assert_int_equal(ada_parse_time("123456", 1000, &ns, NULL), 0);
	assert_int_equal(ns, 123456);
	assert_int_equal(ada_parse_time("0.039215771", 1000, &ns, NULL), 0); /* as dump prints it */
	assert_int_equal(ns, 39216771);
	assert_int_equal(ada_parse_time("+0.5", 1000, &ns, NULL), 0);
	assert_int_equal(ns, 500001000);
	assert_int_equal(ada_parse_time("99999999999.0", 1000, &ns, NULL), -ERANGE);
	assert_int_equal(ada_parse_time("123456", 1000, &ns, NULL), 0);
	assert_int_equal(ada_parse_time("1.5s", 1000, &ns, &error), -EINVAL); /* from which moment? */
	assert_non_null(strstr(error.text, "did you mean +1.5s, from the start?"));
	assert_int_equal(ada_parse_time("0.", 1000, &ns, NULL), -EINVAL);
	assert_int_equal(ada_parse_time("1s", 1000, &ns, NULL), -EINVAL);
	assert_int_equal(ada_parse_time("+", 1000, &ns, NULL), -EINVAL);
	assert_int_equal(ada_parse_time("+1s", UINT64_MAX, &ns, NULL), -ERANGE);
	assert_int_equal(ns, 123456);
}

static void test_formats_have_three_digits(void **state)
{
	static const struct {
		uint64_t value;
		const char *duration, *size, *count;
	} cases[] = {
		{ 0, "0 ns", "0 B", "0" },
		{ 999, "999 ns", "999 B", "999" },
		{ 1230000, "1.23 ms", "1.17 MiB", "1.23 M" },
		{ 12345678, "12.3 ms", "11.8 MiB", "12.3 M" },
		{ 67108864, "67.1 ms", "64.0 MiB", "67.1 M" },
		{ 999600, "1.00 ms", "976 KiB", "1.00 M" },
		{ 9999000, "10.0 ms", "9.54 MiB", "10.0 M" },
		{ UINT64_MAX, "18446744074 s", "16777216 TiB", "18446744074 G" },
	};
	char text[ADA_UNITS_TEXT];

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_string_equal(ada_format_duration(cases[i].value, text), cases[i].duration);
		assert_string_equal(ada_format_size(cases[i].value, text), cases[i].size);
		assert_string_equal(ada_format_count(cases[i].value, text), cases[i].count);
	}
}

static void test_open_calls_say_so(void **state)
{
	char text[ADA_UNITS_TEXT];

	assert_string_equal(ada_format_call_duration(3200000000, false, text), "3.20 s");
	assert_string_equal(ada_format_call_duration(3200000000, true, text), "open 3.20 s");
	assert_string_equal(ada_format_call_duration(UINT64_MAX, true, text), "open 18446744074 s");
}

static void test_digits_are_grouped(void **state)
{
	char text[ADA_UNITS_TEXT];

	assert_string_equal(ada_format_grouped(0, text), "0");
	assert_string_equal(ada_format_grouped(999, text), "999");
	assert_string_equal(ada_format_grouped(12003, text), "12,003");
	assert_string_equal(ada_format_grouped(UINT64_MAX, text), "18,446,744,073,709,551,615");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_durations),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_counts_have_bounds),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_formats_have_three_digits),
		cmocka_unit_test(test_open_calls_say_so),
		cmocka_unit_test(test_digits_are_grouped),
	};

	return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
