/* What is written into JSON is always UTF-8, whatever the program's arguments are. */
#include "../test.h"

#include <string.h>
#include "recorder/session/manifest.h"

static void check(const char *bytes, size_t length, const char *expected)
{
	json_object *object = ada_json_text_of(bytes, length);

	assert_string_equal(json_object_get_string(object), expected);
	json_object_put(object);
}

#define BAD "\xef\xbf\xbd"

static void text(void **state)
{
	check("plain", 5, "plain");
	check("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x9a\x80", 15, "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x9a\x80");
	check("a\xff"
	      "b",
	      3, "a" BAD "b");
	check("\xc3", 1, BAD);		       /* cut off */
	check("\xc0\xaf", 2, BAD BAD);	       /* too long a form */
	check("\xed\xa0\x80", 3, BAD BAD BAD); /* a surrogate */
	check("\xf4\x90\x80\x80", 4, BAD BAD BAD BAD);
	check("", 0, "");
}

static void exits(void **state)
{
	static const struct {
		struct ada_exit_info exit;
		const char *text;
	} cases[] = {
		{ { ADA_EXIT_EXITED, 3, false }, "{\"kind\":\"exited\",\"status\":3}" },
		{ { ADA_EXIT_SIGNAL, 11, true }, "{\"kind\":\"signal\",\"signal\":11,\"coreDumped\":true}" },
		{ { ADA_EXIT_RUNNING, 0, false }, "{\"kind\":\"running\"}" },
		{ { ADA_EXIT_UNKNOWN, 0, false }, "{\"kind\":\"unknown\"}" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		json_object *object = ada_json_exit_of(&cases[i].exit, NULL);

		assert_string_equal(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN), cases[i].text);
		json_object_put(object);
	}
}

static void numbers_are_exact(void **state)
{
	json_object *object = json_object_new_object();

	ada_json_count(object, "most", UINT64_MAX);
	json_object_object_add(object, "address", ada_json_address_of(0xfffffffffffff000));
	assert_string_equal(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN),
			    "{\"most\":18446744073709551615,\"address\":\"0xfffffffffffff000\"}");
	json_object_put(object);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(text), cmocka_unit_test(exits), cmocka_unit_test(numbers_are_exact) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
