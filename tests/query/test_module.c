/* Tables of functions: what is read, what is refused, and what functions are then called. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../test.h"
#include "abi/record.h"
#include "base/file.h"
#include "query/session/module.h"

static char table_path[] = "/tmp/ada-module-XXXXXX";

static struct ada_module *load_of(const char *path, const char *table, int expected)
{
	struct ada_module *module = ada_module_new(path, "beef", table_path);
	FILE *file = fopen(table_path, "w");

	fputs(table, file);
	fclose(file);
	assert_non_null(module);
	assert_int_equal(ada_module_load(module), expected);
	return module;
}

static struct ada_module *load(const char *table, int expected)
{
	return load_of("/usr/lib/lib x.so", table, expected);
}

static void expect_name(struct ada_module *module, uint32_t index, const char *name)
{
	char buffer[ADA_NAME_BUFFER];

	assert_string_equal(ada_module_function(module, ADA_FUNCTION_ID(3, index), buffer), name);
}

#define HEAD "#\t/usr/lib/lib x.so\tbeef\t0x7f0000000000\n"

static void test_names(void **state)
{
	struct ada_module *module = load(HEAD "0\t0x1000\t16\tmain\n1\t0x1010\t32\t_ZN2ns1fIiEEvT_\n2\t0x1030\t8\t\n"
					      "3\t0x1040\t8\ta\\tb\\nc\\\\d\n4\t0x1050\t8\t_RNvC3foo3bar\n",
					 0);

	assert_int_equal(module->symbol_count, 5);
	assert_int_equal(module->symbols[1].address, 0x1010);
	assert_int_equal(module->symbols[1].size, 32);
	assert_string_equal(ada_module_name(module), "lib x.so");
	expect_name(module, 0, "main");
	expect_name(module, 1, "void ns::f<int>(int)");
	expect_name(module, 2, "lib x.so+0x1030");
	expect_name(module, 3, "a\tb\nc\\d");
	expect_name(module, 4, "foo::bar");
	expect_name(module, 5, "lib x.so#5");
	expect_name(NULL, 5, "module 3#5");
	ada_module_free(module);
}

static void test_short_names(void **state)
{
	static const char *const names[][2] = {
		{ "main", "main" },
		{ "void ns::f<int>(int)", "ns::f<..>" },
		{ "Handler::process(std::basic_string<char> const&) [clone .isra.0]", "Handler::process" },
		{ "f[abi:cxx11](int)", "f" },
		{ "std::once_flag::Prepare<g(int)>(void (base::*&)(h<int>*))::{lambda()#1}::_FUN()",
		  "std::once_flag::Prepare<..>::{lambda()#1}::_FUN" },
		{ "serve(int)::{lambda(int)#2}::operator()(int) const", "serve::{lambda(int)#2}::operator()" },
		{ "(anonymous namespace)::f(int)", "(anonymous namespace)::f" },
		{ "std::thread::_State_impl<std::thread::_Invoker<std::tuple<main::{lambda()#1}> > >::_M_run()", "main::{lambda()#1}" },
		{ "std::thread::_State_impl<std::thread::_Invoker<std::tuple<Server::start(int, std::map<int, int>)::{lambda(int, char)#2}, int, char> > >::_M_run()",
		  "Server::start::{lambda(int, char)#2}" },
		{ "std::thread::_State_impl<std::thread::_Invoker<std::tuple<void (*)(int), int> > >::_M_run()",
		  "std::thread::_State_impl<..>::_M_run" },
		{ "std::thread::_State_impl<std::thread::_Invoker<std::tuple<Worker> > >::_M_run()",
		  "std::thread::_State_impl<..>::_M_run" },
		{ "std::thread::_State_impl<std::thread::_Invoker<std::tuple<main::{lambda()#1}> > >::~_State_impl()",
		  "std::thread::_State_impl<..>::~_State_impl" },
		{ "std::ostream& operator<< <char>(std::ostream&, char)", "operator<< <..>" },
	};
	char text[ADA_NAME_BUFFER];

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		assert_string_equal(ada_name_short(names[i][0], text), names[i][1]);
}

static void test_damage_keeps_what_stands_before(void **state)
{
	static const char *const bad[] = { "1\t0x1010\t32\n",
					   "1\t0x1010\n",
					   "2\t0x1010\t3\tgap\n",
					   "1\tx\t3\tf\n",
					   "1\t0x1\t-3\tf\n",
					   "1\t0x10000000000000000\t3\tf\n",
					   "\n",
					   "\t\t\t\n" };

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		char table[256];
		struct ada_module *module;

		snprintf(table, sizeof table, HEAD "0\t0x1000\t16\tmain\n%s2\t0x1000\t16\tlater\n", bad[i]);
		module = load(table, -EBADMSG);
		assert_non_null(strstr(module->problem.text, ":3: "));
		assert_int_equal(ada_module_load(module), -EBADMSG); /* also when asked again */
		assert_int_equal(module->symbol_count, 1);
		expect_name(module, 0, "main");
		ada_module_free(module);
	}
}

static void test_no_table(void **state)
{
	static const char *const bad[] = { "", "\n", "main\n", "#\n", "#\tpath\n", "0\t0x1000\t16\tmain\n" };
	struct ada_module *module;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ada_module_free(load(bad[i], -EBADMSG));
	module = ada_module_new("/bin/x", "", "/nonexistent/0.tsv");
	assert_int_not_equal(ada_module_load(module), 0);
	expect_name(module, 1, "x#1");
	ada_module_free(module);
	module = ada_module_new("/bin/x", "", NULL);
	assert_int_not_equal(ada_module_load(module), 0);
	ada_module_free(module);
}

static void test_head(void **state)
{
	struct ada_error error = {};
	char *path, *build_id;

	ada_module_free(load("#\t/a\\tb\t-\t0x0\n", 0));
	assert_int_equal(ada_module_head(table_path, &path, &build_id, &error), 0);
	assert_string_equal(path, "/a\tb");
	assert_string_equal(build_id, "");
	free(path);
	free(build_id);
	ada_module_free(load("nonsense\n", -EBADMSG));
	assert_int_equal(ada_module_head(table_path, &path, &build_id, &error), -EBADMSG);
	assert_null(path);
}

static bool is_meant(struct ada_module *module, uint64_t function_id, const char *text)
{
	struct ada_pattern_list patterns = { 0 };
	struct ada_error error = {};
	bool meant;

	assert_int_equal(ada_pattern_list_add(&patterns, text, &error), 0);
	meant = ada_module_is_meant(module, function_id, &patterns);
	ada_pattern_list_free(&patterns);
	return meant;
}

static void test_patterns(void **state)
{
	static const struct {
		const char *pattern, *mangled;
		bool meant;
	} cases[] = { { "main", "main", true },
		      { "mai", "main", false },
		      { "m*", "main", true },
		      { "other,m*", "main", true },
		      { "re:^m", "main", true },
		      { "libx.so+0x1000", "main", true },
		      { "0x1000", "main", true },
		      { "libx*", "main", false },
		      { "ns::f", "_ZN2ns1fEi", true },
		      { "ns::f(int)", "_ZN2ns1fEi", true },
		      { "ns::*", "_ZN2ns1fEi", true },
		      { "f", "_ZN2ns1fEi", false },
		      { "_ZN2ns1fEi", "_ZN2ns1fEi", true },
		      { "A::operator[]", "_ZN1AixEi", true },
		      { "A::operator<", "_ZN1AltERKS_", true },
		      { "ns::f<int>", "_ZN2ns1fIiEEii", true },
		      { "ns::f<..>", "_ZN2ns1fIiEEii", true },
		      { "(anonymous namespace)::f", "_ZN12_GLOBAL__N_11fEi", true },
		      { "g", "_Z1gPFvvE", true },
		      { "libx.so+0x1000", "", true },
		      { "libx*", "", true },
		      { "main", "", false } };

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char table[128];
		struct ada_module *module;

		snprintf(table, sizeof table, HEAD "0\t0x1000\t16\t%s\n", cases[i].mangled);
		module = load_of("/bin/libx.so", table, 0);
		if (is_meant(module, 0, cases[i].pattern) != cases[i].meant)
			fail_msg("'%s' against '%s'", cases[i].pattern, cases[i].mangled);
		assert_true(is_meant(module, 1, "libx.so#1")); /* as it is called where the table doesn't have it */
		ada_module_free(module);
	}
}

static int setup(void **state)
{
	int fd = mkstemp(table_path);

	return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
	return unlink(table_path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),	 cmocka_unit_test(test_short_names), cmocka_unit_test(test_damage_keeps_what_stands_before),
		cmocka_unit_test(test_no_table), cmocka_unit_test(test_head),	     cmocka_unit_test(test_patterns),
	};

	return cmocka_run_group_tests_name("module", tests, setup, teardown);
}
