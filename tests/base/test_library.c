#include <errno.h>
#include <math.h>
#include <string.h>
#include "base/library.h"
#include "../test.h"

#define FUNCTIONS(X) X(, cos) X(l, dexp)
#define WRONG(X) X(, cos) X(no_, such_function)
double no_such_function(double x);

static void test_functions(void **state)
{
	static const char *const names[] = { FUNCTIONS(ADA_LIBRARY_NAME) };
	struct {
		FUNCTIONS(ADA_LIBRARY_POINTER)
	} found;
	struct ada_error error = { { 0 } };

	assert_int_equal(ada_library_open("libm.so.6", &found, names, 2, &error), 0);
	assert_true(found.cos(0) == 1);
	assert_true(found.dexp(1, 3) == 8);
	assert_string_equal(error.text, "");
}

static void test_a_function_that_is_missing(void **state)
{
	static const char *const names[] = { WRONG(ADA_LIBRARY_NAME) };
	struct {
		WRONG(ADA_LIBRARY_POINTER)
	} found = { 0 };
	struct ada_error error = { { 0 } };

	assert_int_equal(ada_library_open("libm.so.6", &found, names, 2, &error), -ENOENT);
	assert_null(found.cos);
	assert_non_null(strstr(error.text, "no_such_function"));
}

static void test_a_library_that_is_missing(void **state)
{
	static const char *const names[] = { "cos" };
	struct ada_error error = { { 0 } };
	void *found = NULL;

	assert_int_equal(ada_library_open("libnosuch.so.7", &found, names, 1, &error), -ENOENT);
	assert_null(found);
	assert_non_null(strstr(error.text, "libnosuch.so.7"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_a_function_that_is_missing),
		cmocka_unit_test(test_a_library_that_is_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
