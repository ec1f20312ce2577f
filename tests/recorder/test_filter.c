/* Which names patterns mean. */
#include "../test.h"

#include <errno.h>
#include "recorder/planning/filter.h"
#include "trigger/pattern.h"

#define PLACE "lua5.4+0x8870" /* of what has no name */

static bool passes(const char *function, const char *exclude, const char *name)
{
	struct ada_strings functions = { &function, function ? 1 : 0, 1 }, excluded = { &exclude, exclude ? 1 : 0, 1 };
	struct ada_filter *filter;
	struct ada_error error = { "" };
	bool result;

	assert_int_equal(ada_filter_open(&filter, &functions, &excluded, &error), 0);
	result = ada_filter_passes(filter, name, PLACE);
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

static void a_place_is_the_name_of_the_nameless(void **state)
{
	char place[ADA_PLACE_TEXT];

	assert_true(passes("lua5.4+0x8870", NULL, ""));
	assert_true(passes("lua5.4+*", NULL, ""));
	assert_false(passes("lua5.4+0x8871", NULL, ""));
	assert_false(passes(NULL, "lua5.4+0x8870", ""));
	assert_false(passes(NULL, "lua5.4+0x8870", "main")); /* whatever lies there */
	assert_true(passes("0x8870", NULL, ""));
	assert_true(passes("0x8870", NULL, "main"));
	assert_false(passes("0x887", NULL, "main"));
	assert_false(passes("lua*", NULL, "main")); /* not all of that module */
	assert_false(passes("re:lua", NULL, "main"));
	ada_place_text(place, "/usr/bin/lua5.4", 0x8870);
	assert_string_equal(place, PLACE);
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

static void lists(void **state)
{
	assert_true(passes("main,other", NULL, "other"));
	assert_false(passes("main, other", NULL, "third"));
	assert_true(passes("f(int, long),other", NULL, "_Z1fil"));
	assert_true(passes("o*,re:^ma", NULL, "main"));
	assert_true(passes("re:/^m{1,2}a/,other", NULL, "other"));
	assert_true(passes("'a*b',other", NULL, "a*b"));
	assert_false(passes("'a*b'", NULL, "aab"));
}

static void as_they_are_shown(void **state)
{
	static const char tagged[] = "_ZN2ns1fB5cxx11Ei", many[] = "_ZN2ns7HandlerIiSt6vectorIiSaIiEEE7processEi";

	assert_true(passes("ns::f[abi:cxx11](int)", NULL, tagged));
	assert_true(passes("ns::f[abi:cxx11]", NULL, tagged));
	assert_true(passes("ns::*[abi:cxx11]*", NULL, tagged));
	assert_true(passes("ns::f", NULL, tagged));
	assert_true(passes("ns::Handler<..>::process", NULL, many));
	assert_true(passes("ns::Handler<int, std::vector<int, std::allocator<int> > >::process", NULL, many));
	assert_true(passes("ns::f(int) [clone .cold]", NULL, "_ZN2ns1fEi.cold"));
	assert_true(passes("ns::*[clone .cold]", NULL, "_ZN2ns1fEi.cold"));
	assert_true(passes("X::operator[]", NULL, "_ZN1XixEi"));
}

static void bad_patterns(void **state)
{
	static const char *const bad[] = { "re:(", "re:[", "", "a,", ",a", "'a" };

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
	const char *globs[] = { "libz.so*,libssl.so.3,re:^libcrypto", "/opt/*" };
	struct ada_strings strings = { globs, 2, 2 };
	struct ada_module_filter *filter;
	struct ada_error error = { "" };

	assert_int_equal(ada_module_filter_open(&filter, &strings, &error), 0);
	assert_true(ada_module_filter_means(filter, "/lib/x86_64-linux-gnu/libz.so.1"));
	assert_true(ada_module_filter_means(filter, "/opt/lib/x.so"));
	assert_true(ada_module_filter_means(filter, "/lib/libcrypto.so.3"));
	assert_true(ada_module_filter_means(filter, "/lib/libssl.so.3"));
	assert_false(ada_module_filter_means(filter, "/lib/libzstd.so"));
	ada_module_filter_close(filter);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(literal_and_glob),
					    cmocka_unit_test(a_place_is_the_name_of_the_nameless),
					    cmocka_unit_test(exclude_wins),
					    cmocka_unit_test(demangled),
					    cmocka_unit_test(regex),
					    cmocka_unit_test(lists),
					    cmocka_unit_test(as_they_are_shown),
					    cmocka_unit_test(bad_patterns),
					    cmocka_unit_test(modules) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
