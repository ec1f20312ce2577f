/* src/cli/screen/field.c: a line that is being typed. */
#include "cli/screen/field.h"
#include <string.h>
#include "base/output.h"
#include "cli/screen/keys.h"
#include "../test.h"

static void type(struct ada_field *field, const char *text)
{
	for (; *text; text++)
		assert_int_equal(ada_field_key(field, *text), ADA_FIELD_GOES_ON);
}

static void press(struct ada_field *field, int key, size_t times)
{
	while (times--)
		assert_int_equal(ada_field_key(field, key), ADA_FIELD_GOES_ON);
}

static void test_typing(void **state)
{
	struct ada_field field = {};

	type(&field, "latency=f>5ms");
	press(&field, ADA_KEY_LEFT, 4);
	type(&field, "oo");
	assert_string_equal(field.text, "latency=foo>5ms");
	press(&field, ADA_KEY_BACKSPACE, 1);
	press(&field, ADA_KEY_DELETE, 1);
	assert_string_equal(field.text, "latency=fo5ms");
	press(&field, ADA_KEY_HOME, 1);
	press(&field, ADA_KEY_BACKSPACE, 1);
	press(&field, ADA_KEY_LEFT, 1);
	type(&field, "a");
	press(&field, ADA_KEY_END, 1);
	press(&field, ADA_KEY_DELETE, 1);
	press(&field, ADA_KEY_RIGHT, 1);
	type(&field, "z");
	assert_string_equal(field.text, "alatency=fo5msz");
	assert_int_equal(ada_field_key(&field, ADA_KEY_ENTER), ADA_FIELD_ENTERED);
	assert_int_equal(ada_field_key(&field, ADA_KEY_ESCAPE), ADA_FIELD_LEFT);
	assert_int_equal(ada_field_key(&field, ADA_KEY_CONTROL('C')), ADA_FIELD_LEFT);
}

static void test_words_and_ends(void **state)
{
	struct ada_field field = {};

	ada_field_set(&field, "one two  three");
	press(&field, ADA_KEY_CONTROL('W'), 1);
	assert_string_equal(field.text, "one two  ");
	press(&field, ADA_KEY_CONTROL('W'), 1);
	assert_string_equal(field.text, "one ");
	press(&field, ADA_KEY_LEFT, 2);
	press(&field, ADA_KEY_CONTROL('K'), 1);
	assert_string_equal(field.text, "on");
	press(&field, ADA_KEY_LEFT, 1);
	press(&field, ADA_KEY_CONTROL('U'), 1);
	assert_string_equal(field.text, "n");
	press(&field, ADA_KEY_CONTROL('X'), 1);
	press(&field, ADA_KEY_DOWN, 1);
	assert_string_equal(field.text, "n");
}

static void test_other_alphabets(void **state)
{
	static const int characters[] = { 0xe9, 0x20ac, 0x1f600, 0x10ffff };
	struct ada_field field = {};

	for (size_t i = 0; i < 4; i++)
		press(&field, characters[i], 1);
	assert_string_equal(field.text, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf");
	assert_true(ada_output_is_utf8(field.text));
	press(&field, ADA_KEY_LEFT, 2);
	press(&field, ADA_KEY_BACKSPACE, 1);
	press(&field, ADA_KEY_RIGHT, 1);
	press(&field, ADA_KEY_DELETE, 1);
	assert_string_equal(field.text, "\xc3\xa9\xf0\x9f\x98\x80");
}

static void test_no_more_than_there_is_room_for(void **state)
{
	struct ada_field field = {};
	char longer[2 * ADA_FIELD_BYTES];

	memset(longer, 'x', sizeof longer - 1);
	longer[sizeof longer - 1] = 0;
	ada_field_set(&field, longer);
	assert_int_equal(field.length, ADA_FIELD_BYTES - 1);
	press(&field, 'y', 1);
	ada_field_put(&field, "y");
	assert_int_equal(strlen(field.text), ADA_FIELD_BYTES - 1);
	assert_null(strchr(field.text, 'y'));
	press(&field, ADA_KEY_BACKSPACE, 2);
	press(&field, 0x20ac, 1); /* three bytes */
	assert_int_equal(field.length, ADA_FIELD_BYTES - 3);
	ada_field_put(&field, "yy");
	assert_int_equal(field.length, ADA_FIELD_BYTES - 1);
}

static void test_where_an_error_points(void **state)
{
	assert_int_equal(ada_field_fault("rule 'x': at character 12: no such kind"), 12);
	assert_int_equal(ada_field_fault("the session has ended"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_typing),
		cmocka_unit_test(test_words_and_ends),
		cmocka_unit_test(test_other_alphabets),
		cmocka_unit_test(test_no_more_than_there_is_room_for),
		cmocka_unit_test(test_where_an_error_points),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
