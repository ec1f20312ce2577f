/* Values as text: by types and records that are made up here. tests/arguments does the same with programs. */
#include "../test.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "query/values/internal.h"

#define SP 0x7ffc12340000ull

static const struct ada_process process;
static uint8_t stack[64];
static struct atf_detail record;
static const struct ada_debug_where first = { .place = ADA_DEBUG_REGISTERS, .count = 1 };
static const struct ada_debug_where vector = { .place = ADA_DEBUG_REGISTERS, .count = 1, .registers = { ~0 } };

static struct ada_argument format(const struct ada_debug_type *type, const struct ada_debug_where *where, bool is_return)
{
	struct ada_captured captured = { &process, &record, is_return };
	struct ada_argument argument = {};

	assert_int_equal(ada_argument_format(&argument, &captured, type, where), 0);
	return argument;
}

static void check(const struct ada_debug_type *type, const struct ada_debug_where *where, const char *text)
{
	struct ada_argument argument = format(type, where, false);

	assert_string_equal(argument.text, text);
	free(argument.text);
	free(argument.string);
}

static int setup(void **state)
{
	memset(stack, 0, sizeof stack);
	record = (struct atf_detail){ .sp = SP, .stack = stack, .stack_size = sizeof stack, .flags = ATF_DETAIL_VECTORS };
	return 0;
}

static void integers(void **state)
{
	static const struct {
		enum ada_debug_class class;
		uint32_t bytes;
		uint64_t value;
		const char *text;
	} cases[] = { { ADA_DEBUG_SIGNED, 1, 0xffffffffffffff80, "-128" },
		      { ADA_DEBUG_SIGNED, 4, 0xaaaaaaaa7fffffff, "2147483647" },
		      { ADA_DEBUG_SIGNED, 8, 1ull << 63, "-9223372036854775808" },
		      { ADA_DEBUG_UNSIGNED, 2, 0xabcdffff, "65535" },
		      { ADA_DEBUG_UNSIGNED, 8, UINT64_MAX, "18446744073709551615" },
		      { ADA_DEBUG_BOOL, 1, 0xff01, "true" },
		      { ADA_DEBUG_BOOL, 1, 0, "false" },
		      { ADA_DEBUG_BOOL, 1, 2, "2" },
		      { ADA_DEBUG_CHAR, 1, 'a', "'a'" },
		      { ADA_DEBUG_CHAR, 1, '\'', "'\\''" },
		      { ADA_DEBUG_CHAR, 1, 0xe9, "'\\xe9'" },
		      { ADA_DEBUG_CHAR, 1, 7, "'\\a'" },
		      { ADA_DEBUG_CHAR, 4, 0x20ac, "'€'" },
		      { ADA_DEBUG_CHAR, 4, 0xd800, "'\\u{d800}'" },
		      { ADA_DEBUG_CHAR, 4, 0x110000, "'\\u{110000}'" },
		      { ADA_DEBUG_POINTER, 8, 0, "NULL" },
		      { ADA_DEBUG_POINTER, 8, 0xdeadbeef, "0xdeadbeef" },
		      { ADA_DEBUG_OTHER, 4, 0x1234, "0x1234" },
		      { ADA_DEBUG_SIGNED, 0, 5, "0" } };

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		record.x[0] = cases[i].value;
		check(&(struct ada_debug_type){ .class = cases[i].class,
						.bytes = cases[i].bytes,
						.is_unsigned = cases[i].bytes == 4 && cases[i].class == ADA_DEBUG_CHAR },
		      &first, cases[i].text);
	}
}

static void reals(void **state)
{
	static const struct {
		double value;
		const char *wide, *narrow;
	} cases[] = { { 0.1, "0.1", "0.1" },
		      { -0.0, "-0", "-0" },
		      { 1e300, "1e+300", "inf" },
		      { 1.0 / 3, "0.3333333333333333", "0.33333334" },
		      { 16777217, "16777217", "16777216" },
		      { NAN, "nan", "nan" },
		      { INFINITY, "inf", "inf" } };
	const struct ada_debug_type wide = { .class = ADA_DEBUG_REAL, .bytes = 8 }, narrow = { .class = ADA_DEBUG_REAL, .bytes = 4 };

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		float value = (float)cases[i].value;

		memcpy(&record.vectors[0], &cases[i].value, 8);
		check(&wide, &vector, cases[i].wide);
		memcpy(&record.vectors[0], &value, 4);
		check(&narrow, &vector, cases[i].narrow);
	}
	record.flags = 0;
	check(&wide, &vector, "(not captured)");
}

static void enumerations(void **state)
{
	struct ada_debug_enumerator plain[] = { { "RED", 0 }, { "GREEN", 1 }, { "BLUE", 2 }, { "MANY", 3 }, { "MORE", 4 } };
	struct ada_debug_enumerator flags[] = { { "NONE", 0 }, { "R", 1 }, { "W", 2 }, { "X", 8 }, { "RW", 3 } };
	struct ada_debug_enumerator two[] = { { "OFF", 0 }, { "ON", 1 }, { "BOTH", 2 } };
	struct ada_debug_type type = { .class = ADA_DEBUG_ENUM, .bytes = 4, .enumerators = { plain, 5, 5 } };

	record.x[0] = 2;
	check(&type, &first, "BLUE (2)");
	record.x[0] = 5;
	check(&type, &first, "5"); /* numbers, not flags */
	record.x[0] = (uint64_t)-1;
	check(&type, &first, "-1");
	type.enumerators.items = flags;
	record.x[0] = 9;
	check(&type, &first, "R|X (9)");
	record.x[0] = 3;
	check(&type, &first, "RW (3)");
	record.x[0] = 0x10a;
	check(&type, &first, "W|X|0x100 (266)");
	record.x[0] = 0;
	check(&type, &first, "NONE (0)");
	type.enumerators.items = two;
	type.enumerators.count = 3;
	record.x[0] = 3;
	check(&type, &first, "3");
}

static void strings(void **state)
{
	const struct ada_debug_type type = { .class = ADA_DEBUG_C_STRING, .bytes = 8 };
	struct ada_argument argument;

	strcpy((char *)stack + 8, "say \"hi\"\\\t\x01\xff\xc3\xa9");
	record.x[0] = SP + 8 + 8;
	check(&type, &first, "\"say \\\"hi\\\"\\\\\\t\\x01\\xffé\"");
	record.x[0] = SP + 8 + 63;
	check(&type, &first, "\"\"");
	memset(stack + 40, 'z', 24);
	record.x[0] = SP + 8 + 60;
	argument = format(&type, &first, false);
	assert_string_equal(argument.text, "\"zzzz\"...");
	assert_true(argument.cut && argument.captured && argument.kind == ADA_ARGUMENT_STRING);
	assert_string_equal(argument.string, "zzzz");
	free(argument.text);
	free(argument.string);
	record.x[0] = SP + 8 + 64; /* just behind */
	argument = format(&type, &first, false);
	assert_string_equal(argument.text, "0x7ffc12340048 (not captured)");
	assert_true(!argument.captured && argument.kind == ADA_ARGUMENT_POINTER);
	free(argument.text);
	record.x[0] = SP; /* the return address isn't */
	check(&type, &first, "0x7ffc12340000 (not captured)");
	record.x[0] = 0;
	check(&type, &first, "NULL");
}

static void put_string(size_t at, uint64_t text, uint64_t length, const char *inline_text)
{
	memcpy(stack + at, &text, 8);
	memcpy(stack + at + 8, &length, 8);
	memcpy(stack + at + 16, inline_text, strlen(inline_text));
}

static void std_strings(void **state)
{
	const struct ada_debug_type type = { .class = ADA_DEBUG_STD_STRING, .bytes = 8, .is_pointer = true };
	const struct ada_debug_type by_value = { .class = ADA_DEBUG_STD_STRING, .bytes = 32 };
	const struct ada_debug_where indirect = { .place = ADA_DEBUG_REGISTERS, .count = 1, .indirect = true };
	uint64_t object = SP + 8 + 16;

	record.x[0] = object;
	put_string(16, object + 16, 5, "hello, not this");
	check(&type, &first, "\"hello\"");
	check(&by_value, &indirect, "\"hello\"");
	put_string(16, object + 16, 16, ""); /* longer than its buffer: damaged */
	check(&type, &first, "0x7ffc12340018 (not captured)");
	put_string(16, 0x5555000, 40, ""); /* elsewhere */
	check(&type, &first, "0x7ffc12340018 (not captured)");
	/* The text is there, the rest of the buffer isn't */
	record.x[0] = object = SP + 8 + 40;
	put_string(40, object + 16, 4, "four");
	check(&type, &first, "\"four\"");
	check(&by_value, &indirect, "\"four\"");
	put_string(40, object + 16, 9, "");
	check(&type, &first, "0x7ffc12340030 (not captured)");
}

static void slices(void **state)
{
	const struct ada_debug_type type = { .class = ADA_DEBUG_SLICE, .bytes = 16, .length_at = 8 };
	const struct ada_debug_where two = { .place = ADA_DEBUG_REGISTERS, .count = 2, .registers = { 0, 1 }, .offsets = { 0, 8 } };

	memcpy(stack, "slice", 5);
	record.x[0] = SP + 8;
	record.x[1] = 3;
	check(&type, &two, "\"sli\"");
	record.x[1] = 0;
	check(&type, &two, "\"\"");
	record.x[0] = SP + 8 + 60;
	record.x[1] = UINT64_MAX;
	check(&type, &two, "\"\\0\\0\\0\\0\"...");
	record.x[0] = 1;
	check(&type, &two, "0x1 (not captured)");
}

static void places(void **state)
{
	const struct ada_debug_type number = { .class = ADA_DEBUG_SIGNED, .bytes = 8 }, wide = { .class = ADA_DEBUG_SIGNED, .bytes = 16 };
	const struct ada_debug_where two = { .place = ADA_DEBUG_REGISTERS, .count = 2, .registers = { 0, 1 }, .offsets = { 0, 8 } };
	struct ada_debug_where on_stack = { .place = ADA_DEBUG_STACK, .stack = 56 };
	struct ada_argument argument;

	record.x[0] = record.x[1] = (uint64_t)-1;
	check(&wide, &two, "-1");
	record.x[1] = 1ull << 63;
	record.x[0] = 0;
	check(&wide, &two, "-170141183460469231731687303715884105728");
	stack[56] = 9;
	check(&number, &on_stack, "9");
	on_stack.stack = 57;
	check(&number, &on_stack, "(not captured)");
	on_stack.stack = UINT32_MAX;
	check(&number, &on_stack, "(not captured)");
	check(&number, &(struct ada_debug_where){}, "(not known)");
	/* rdx of a return is x1; r8 isn't recorded there */
	record.x[1] = 77;
	argument = format(&number, &(struct ada_debug_where){ .place = ADA_DEBUG_REGISTERS, .count = 1, .registers = { 1 } }, true);
	assert_string_equal(argument.text, "77");
	free(argument.text);
	argument = format(&number, &(struct ada_debug_where){ .place = ADA_DEBUG_REGISTERS, .count = 1, .registers = { 4 } }, true);
	assert_string_equal(argument.text, "(not captured)");
	free(argument.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test_setup(integers, setup),	 cmocka_unit_test_setup(reals, setup),
					    cmocka_unit_test_setup(enumerations, setup), cmocka_unit_test_setup(strings, setup),
					    cmocka_unit_test_setup(std_strings, setup),	 cmocka_unit_test_setup(slices, setup),
					    cmocka_unit_test_setup(places, setup) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
