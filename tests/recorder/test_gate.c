/* after=, every= and limit=, whoever counts them. */
#include "../test.h"
#include <stdio.h>
#include <string.h>
#include "abi/rules.h"

/* Matches at `step`, 2 `step`, ...: which of the first 20 mark, as a string of 0 and 1. */
static const char *marks(struct ada_rule rule, uint64_t step)
{
	static char text[21];
	struct ada_rule_state state = { 0 };
	uint64_t count = 0;

	for (uint64_t i = 0; i < 20; i++) {
		text[i] = ada_rule_pass(&state, &rule, (i + 1) * step) ? '1' : '0';
		count += text[i] == '1';
	}
	assert_int_equal(state.matches, 20);
	assert_int_equal(state.marks, count);
	return text;
}

static void test_all(void **state)
{
	assert_string_equal(marks((struct ada_rule){ 0 }, 1), "11111111111111111111");
	assert_string_equal(marks((struct ada_rule){ .every = 1 }, 1), "11111111111111111111");
}

static void test_after(void **state)
{
	assert_string_equal(marks((struct ada_rule){ .after = 3 }, 1), "00011111111111111111");
	assert_string_equal(marks((struct ada_rule){ .after = 100 }, 1), "00000000000000000000");
}

static void test_every(void **state)
{
	assert_string_equal(marks((struct ada_rule){ .every = 4 }, 1), "10001000100010001000");
	assert_string_equal(marks((struct ada_rule){ .after = 2, .every = 5 }, 1), "00100001000010000100");
}

static void test_limit(void **state)
{
	assert_string_equal(marks((struct ada_rule){ .limit = 2, .limit_ticks = 50 }, 10), "11000110001100011000");
	assert_string_equal(marks((struct ada_rule){ .limit = 2, .limit_ticks = 10 }, 10), "11111111111111111111");
}

/* What after and every leave out doesn't count against the limit. */
static void test_limit_of_what_is_left(void **state)
{
	assert_string_equal(marks((struct ada_rule){ .after = 1, .every = 2, .limit = 1, .limit_ticks = 50 }, 10), "01000001000001000001");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_all), cmocka_unit_test(test_after), cmocka_unit_test(test_every),
					    cmocka_unit_test(test_limit), cmocka_unit_test(test_limit_of_what_is_left) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
