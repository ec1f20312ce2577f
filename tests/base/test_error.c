#include <errno.h>
#include <string.h>
#include "base/error.h"
#include "../test.h"

static void test_first_message_stays(void **state)
{
	struct ada_error error = { { 0 } };

	assert_int_equal(ada_error_set(&error, EINVAL, "%s: line %d", "a.txt", 3), -EINVAL);
	assert_int_equal(ada_error_set(&error, EIO, "second"), -EIO);
	assert_string_equal(error.text, "a.txt: line 3");
}

static void test_system_adds_the_reason(void **state)
{
	struct ada_error error = { { 0 } };

	assert_int_equal(ada_error_system(&error, ENOENT, "can't open %s", "b"), -ENOENT);
	assert_string_equal(error.text, "can't open b: No such file or directory");
}

static void test_no_place_for_the_text_is_fine(void **state)
{
	assert_int_equal(ada_error_set(NULL, EBUSY, "unseen"), -EBUSY);
	assert_int_equal(ada_error_system(NULL, EBUSY, "unseen"), -EBUSY);
}

static void test_always_one_line_that_ends(void **state)
{
	struct ada_error error = { { 0 } };
	char name[2000];

	memset(name, 'x', sizeof name);
	name[sizeof name - 1] = '\0';
	name[5] = '\n';
	name[6] = '\033';
	ada_error_system(&error, ENOENT, "%s", name);
	assert_true(strlen(error.text) < sizeof error.text);
	assert_memory_equal(error.text, "xxxxx??x", 8);
	assert_non_null(strstr(error.text, ": No such file or directory"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_message_stays),
		cmocka_unit_test(test_system_adds_the_reason),
		cmocka_unit_test(test_no_place_for_the_text_is_fine),
		cmocka_unit_test(test_always_one_line_that_ends),
	};

	return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
