/* Quoting for each format, and the buffer under it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../test.h"
#include "base/output.h"

static void expect(enum ada_format format, const char *text, const char *expected)
{
	char *prepared = ada_output_prepare(format, text);

	assert_string_equal(prepared, expected);
	free(prepared);
}

static void test_json(void **state)
{
	expect(ADA_FORMAT_JSON, "", "\"\"");
	expect(ADA_FORMAT_JSON, "a\"b\\c/d", "\"a\\\"b\\\\c/d\"");
	expect(ADA_FORMAT_JSON, "\n\r\t\x01\x1f\x7f", "\"\\n\\r\\t\\u0001\\u001f\x7f\"");
	expect(ADA_FORMAT_JSON, "h\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\"h\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"");
}

/* More than are written at once, the longest and the shortest there are. */
static void test_numbers(void **state)
{
	static struct ada_output output;
	uint64_t numbers[20];
	char expected[20 * 21 + 1] = "";

	ada_output_open(&output, -1);
	for (size_t i = 0; i < 20; i++) {
		numbers[i] = i % 3 ? UINT64_MAX - i : i;
		snprintf(expected + strlen(expected), 22, "%llu,", (unsigned long long)numbers[i]);
	}
	for (size_t count = 0; count <= 20; count++) {
		output.length = 0;
		ada_output_numbers(&output, numbers, count);
		assert_memory_equal(output.bytes, expected, output.length);
		assert_int_equal(count && output.bytes[output.length - 1] != ',', 0);
	}
	assert_int_equal(output.length, strlen(expected));
}

static void test_csv(void **state)
{
	expect(ADA_FORMAT_CSV, "plain text", "plain text");
	expect(ADA_FORMAT_CSV, "a,b", "\"a,b\"");
	expect(ADA_FORMAT_CSV, "a\"b", "\"a\"\"b\"");
	expect(ADA_FORMAT_CSV, "a\nb", "\"a\nb\"");
	expect(ADA_FORMAT_CSV, "a\rb", "\"a\rb\"");
}

static void test_text(void **state)
{
	expect(ADA_FORMAT_TEXT, "a,\"b\"\\", "a,\"b\"\\");
	expect(ADA_FORMAT_TEXT, "\x1b[31m\n\x7f", "?[31m??");
	assert_int_equal(ada_output_width("h\xc3\xa9\xe2\x82\xac\xff"), 4);
}

/* What is no UTF-8 by the standard's table: each stray byte becomes U+FFFD, what follows is read on. */
static void test_invalid_utf8(void **state)
{
	static const char *const bad[] = { "\x80",
					   "\xbf",
					   "\xc0",
					   "\xc1",
					   "\xf5",
					   "\xff",
					   "\xc3",
					   "\xe2\x82",
					   "\xf0\x9f\x98",
					   "\xc0\xaf",
					   "\xe0\x80\xaf",
					   "\xed\xa0\x80",
					   "\xf0\x80\x80\xaf",
					   "\xf4\x90\x80\x80" };

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		char text[16], expected[64] = "<";

		snprintf(text, sizeof text, "<%s>", bad[i]);
		for (size_t j = 0; j < strlen(bad[i]); j++)
			strcat(expected, "\xEF\xBF\xBD");
		strcat(expected, ">");
		expect(ADA_FORMAT_TEXT, text, expected);
		expect(ADA_FORMAT_CSV, text, expected);
	}
}

static void test_buffer(void **state)
{
	static struct ada_output output;
	char *read_back, big[3 * sizeof output.bytes / 2];
	FILE *file = tmpfile();
	long length;

	memset(big, 'x', sizeof big);
	ada_output_open(&output, fileno(file));
	ada_output_u64(&output, 0);
	ada_output_u64(&output, UINT64_MAX);
	ada_output_spaces(&output, 100);
	ada_output_bytes(&output, big, sizeof big);
	ada_output_string(&output, "end");
	assert_true(ada_output_flush(&output));
	length = lseek(fileno(file), 0, SEEK_END);
	assert_int_equal(length, 1 + 20 + 100 + sizeof big + 3);
	read_back = calloc(1, length + 1);
	assert_int_equal(pread(fileno(file), read_back, length, 0), length);
	assert_memory_equal(read_back, "018446744073709551615 ", 22);
	assert_string_equal(read_back + 121 + sizeof big, "end");
	free(read_back);
	fclose(file);
}

static void test_write_fails(void **state)
{
	static struct ada_output output;
	FILE *full = fopen("/dev/full", "w");

	ada_output_open(&output, fileno(full));
	ada_output_string(&output, "lost");
	assert_false(ada_output_flush(&output));
	assert_int_not_equal(output.error, 0);
	ada_output_spaces(&output, 1 << 20); /* goes nowhere, and does not fill up either */
	assert_false(ada_output_flush(&output));
	fclose(full);
}

static void expect_wrapped(const char *text, size_t columns, size_t first, size_t others, const char *expected)
{
	static struct ada_output output;
	char read_back[256] = "";
	FILE *file = tmpfile();

	ada_output_open(&output, fileno(file));
	ada_output_wrapped(&output, text, columns, first, others);
	assert_true(ada_output_flush(&output));
	assert_true(pread(fileno(file), read_back, sizeof read_back - 1, 0) >= 0);
	assert_string_equal(read_back, expected);
	fclose(file);
}

static void test_wrapped(void **state)
{
	expect_wrapped("one two three", 0, 5, 2, "one two three");
	expect_wrapped("one two three", 18, 5, 2, "one two three");
	expect_wrapped("one two three", 17, 5, 2, "one two\n  three");
	expect_wrapped("one two three", 8, 5, 2, "one\n  two\n  three");
	expect_wrapped("one two three", 3, 5, 2, "one\n  two\n  three"); /* words aren't broken */
	expect_wrapped("incomprehensibility it is", 10, 0, 1, "incomprehensibility\n it is");
	expect_wrapped("\xC3\xA4\xC3\xB6\xC3\xBC \xC3\x9F b", 5, 0, 0, "\xC3\xA4\xC3\xB6\xC3\xBC \xC3\x9F\nb"); /* columns, not bytes */
	expect_wrapped("", 5, 0, 0, "");
}

static void test_colours(void **state)
{
	assert_false(ada_output_colours(-1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json),	     cmocka_unit_test(test_csv),     cmocka_unit_test(test_text),
		cmocka_unit_test(test_invalid_utf8), cmocka_unit_test(test_buffer),  cmocka_unit_test(test_write_fails),
		cmocka_unit_test(test_colours),	     cmocka_unit_test(test_numbers), cmocka_unit_test(test_wrapped),
	};

	return cmocka_run_group_tests_name("output", tests, NULL, NULL);
}
