/* Which names patterns mean. */
#include "../test.h"

#include <errno.h>
#include "recorder/planning/filter.h"

static bool passes(const char *function, const char *exclude, const char *name)
{
	struct ada_strings functions = { &function, function ? 1 : 0, 1 }, excluded = { &exclude, exclude ? 1 : 0, 1 };
	struct ada_filter *filter;
	struct ada_error error = { "" };
	bool result;

	assert_int_equal(ada_filter_open(&filter, &functions, &excluded, &error), 0);
	result = ada_filter_passes(filter, name);
	ada_filter_close(filter);
	return result;
}

static void literal_and_glob(void **state)
{
	assert_true(passes("main", NULL, "main"));
	assert_false(passes("main", NULL, "main2"));
	assert_true(passes("ma*", NULL, "main2"));
	assert_false(passes("ma*", NULL, "domain"));
	assert_true(passes(NULL, NULL, "anything"));
	assert_true(passes("*", NULL, ""));
	assert_false(passes("main", NULL, ""));
}

static void exclude_wins(void **state)
{
	assert_false(passes(NULL, "free", "free"));
	assert_true(passes(NULL, "free", "malloc"));
	assert_false(passes("*", "f*", "free"));
}

static void demangled(void **state)
{
	const char *name = "_ZN3foo3barEi"; /* foo::bar(int) */

	assert_true(passes("foo::bar(int)", NULL, name));
	assert_true(passes("foo::bar", NULL, name));
	assert_true(passes("foo::*", NULL, name));
	assert_true(passes("_ZN3foo*", NULL, name));
	assert_false(passes("bar", NULL, name));
	assert_false(passes(NULL, "foo::bar", name));
}

static void regex(void **state)
{
	assert_true(passes("re:^[mf]a", NULL, "main"));
	assert_true(passes("re:ai", NULL, "main"));
	assert_false(passes("re:^ai", NULL, "main"));
	assert_true(passes("re:\\(int\\)$", NULL, "_ZN3foo3barEi"));
}

static void bad_patterns(void **state)
{
	static const char *const bad[] = { "re:(", "re:[", "" };

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		const char *text = bad[i];
		struct ada_strings functions = { &text, 1, 1 }, none = { 0 };
		struct ada_filter *filter;
		struct ada_error error = { "" };

		assert_int_equal(ada_filter_open(&filter, &functions, &none, &error), -EINVAL);
		assert_true(*error.text);
	}
}

static void modules(void **state)
{
	const char *globs[] = { "libz.so*", "/opt/*" };
	struct ada_strings strings = { globs, 2, 2 };

	assert_true(ada_filter_module(&strings, "/lib/x86_64-linux-gnu/libz.so.1"));
	assert_true(ada_filter_module(&strings, "/opt/lib/x.so"));
	assert_false(ada_filter_module(&strings, "/lib/libzstd.so"));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(literal_and_glob), cmocka_unit_test(exclude_wins),
					    cmocka_unit_test(demangled),	cmocka_unit_test(regex),
					    cmocka_unit_test(bad_patterns),	cmocka_unit_test(modules) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
