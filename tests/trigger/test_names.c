/* Where names end in a rule, and which functions they mean. */
#include "rules.h"
#include "elf/file/symbols.h"

static const char *library;

static void lists(void **state)
{
	static const struct {
		const char *text;
		const char *names[5];
	} cases[] = {
		{ "symbol=a,b , c", { "a", "b", "c" } },
		{ "symbol=function:a,b", { "a", "b" } },
		{ "symbol=f(int, char),g<int,char>", { "f(int, char)", "g<int,char>" } },
		{ "symbol=operator<,operator>>,operator(),operator,,operator->",
		  { "operator<", "operator>>", "operator()", "operator,", "operator->" } },
		{ "symbol=operator< <int>(int, int),a", { "operator< <int>(int, int)", "a" } },
		{ "symbol='a,b@c<d',\"it's\"", { "a,b@c<d", "it's" } },
		{ "symbol=(anonymous namespace)::f", { "(anonymous namespace)::f" } },
		{ "latency=std::map<int, std::less<int>>::find,g>5ms", { "std::map<int, std::less<int>>::find", "g" } },
		{ "latency=a,'b<'>5ms", { "a", "b<" } },
		{ "arg='ns::f:1':2>5", { "ns::f:1" } },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct ada_trigger *trigger = good(cases[i].text);
		size_t count = 0;

		for (; count < 5 && cases[i].names[count]; count++)
			pattern_is(trigger, count, ADA_PATTERN_LITERAL, cases[i].names[count]);
		assert_int_equal(trigger->patterns.count, count);
		ada_trigger_free(trigger);
	}
}

/* Quotes make a literal of what would be a glob; a regex ends at the options, or where its slash says. */
static void quotes_and_regexes(void **state)
{
	struct ada_trigger *trigger = good("symbol='operator*','re:x',operator*,f(*,g,re:/a@b,c\\/d/,re:x<y,z\\@w@nocase");

	assert_int_equal(trigger->patterns.count, 7);
	pattern_is(trigger, 0, ADA_PATTERN_LITERAL, "operator*");
	pattern_is(trigger, 1, ADA_PATTERN_LITERAL, "re:x");
	pattern_is(trigger, 2, ADA_PATTERN_GLOB, "operator*");
	pattern_is(trigger, 3, ADA_PATTERN_GLOB, "f(*");
	pattern_is(trigger, 4, ADA_PATTERN_LITERAL, "g");
	pattern_is(trigger, 5, ADA_PATTERN_REGEX, "a@b,c\\/d");
	pattern_is(trigger, 6, ADA_PATTERN_REGEX, "x<y,z\\@w");
	for (size_t i = 0; i < 7; i++)
		assert_true(trigger->patterns.items[i].nocase);
	ada_trigger_free(trigger);
	trigger = good("return=re:^a,b(?!c)<0");
	pattern_is(trigger, 0, ADA_PATTERN_REGEX, "^a,b(?!c)");
	ada_trigger_free(trigger);
	trigger = good("return=re:/^a(?<x>b)==/,c==0");
	pattern_is(trigger, 0, ADA_PATTERN_REGEX, "^a(?<x>b)==");
	pattern_is(trigger, 1, ADA_PATTERN_LITERAL, "c");
	ada_trigger_free(trigger);
}

/* The specification's: taken literally, with a warning; strict: refused. */
static void invalid_regex(void **state)
{
	struct ada_error error = { "" };
	struct ada_trigger *trigger;
	char warning[512] = "";

	assert_int_equal(ada_trigger_parse(&trigger, "symbol=x,re:a(b", false, note_warning, warning, &error), 0);
	assert_string_equal(warning, "at character 16: missing closing parenthesis: the regex is taken as a literal name "
				     "(--strict makes this an error)");
	pattern_is(trigger, 1, ADA_PATTERN_LITERAL, "a(b");
	ada_trigger_free(trigger);
	refused("symbol=x,re:a(b", "at character 16: missing closing parenthesis");
	refused("symbol=re:/a(b/,x", "at character 15: missing closing parenthesis");
}

static bool matches(const char *rule, const char *mangled)
{
	struct ada_trigger *trigger = good(rule);
	struct ada_names names;
	bool result;

	ada_names_open(&names, mangled, NULL);
	result = ada_trigger_sides(trigger, &names);
	ada_names_close(&names);
	ada_trigger_free(trigger);
	return result;
}

static void matching(void **state)
{
	static const struct {
		const char *rule, *name;
		bool fits;
	} cases[] = { { "symbol=malloc", "malloc", true },
		      { "symbol=malloc", "malloc_usable_size", false },
		      { "symbol=mall", "malloc", false },
		      { "symbol=free,malloc", "malloc", true },
		      { "symbol=MALLOC", "malloc", false },
		      { "symbol=MALLOC@nocase", "malloc", true },
		      { "symbol=m*c", "malloc", true },
		      { "symbol=M*C", "malloc", false },
		      { "symbol=M*C@nocase", "malloc", true },
		      { "symbol=[mc]alloc", "calloc", true },
		      { "symbol='[mc]alloc'", "calloc", false },
		      { "symbol=?alloc", "malloc", true },
		      { "symbol=re:all", "malloc", true },
		      { "symbol=re:^all", "malloc", false },
		      { "symbol=re:ALL@nocase", "malloc", true },
		      { "symbol=memcpy", "memcpy@@GLIBC_2.14", true },
		      { "symbol='memcpy@@GLIBC_2.14'", "memcpy@@GLIBC_2.14", true },
		      { "symbol='memcpy@@GLIBC_2.14'", "memcpy@@GLIBC_2.2.5", false },
		      { "symbol=re:cpy$", "memcpy@@GLIBC_2.14", true },
		      { "symbol=foo::bar", "_ZN3foo3barEi", true },
		      { "symbol=foo::bar(int)", "_ZN3foo3barEi", true },
		      { "symbol=foo::bar", "_ZN3foo3barEi@VERS_1", true },
		      { "symbol=_ZN3foo3barEi", "_ZN3foo3barEi@VERS_1", true },
		      { "symbol=bar", "_ZN3foo3barEi", false },
		      { "symbol=foo::bar(char)", "_ZN3foo3barEi", false },
		      /* Parameters and types of results that look like names. */
		      { "symbol=(anonymous namespace)::f", "_ZN12_GLOBAL__N_11fEi", true },
		      { "symbol=S::operator()", "_ZN1SclEi", true },
		      { "symbol=id<int>", "_Z2idIiET_S0_", true },
		      { "symbol=take", "_Z4takePFvvE", true },
		      { "symbol=S::get", "_ZNK1S3getEv", true },
		      { "symbol=core::fmt::write", "_ZN4core3fmt5write17h0123456789abcdefE", true },
		      /* Clones of a function are meant by its name, and by their own. */
		      { "symbol=outer", "outer.isra.0", true },
		      { "symbol=outer", "outer.constprop.0.isra.0", true },
		      { "symbol=outer", "outer.part.2.cold", true },
		      { "symbol=outer", "outer.cold", true },
		      { "symbol=outer", "outer.lto_priv.0", true },
		      { "symbol=outer", "outer.llvm.123456", true },
		      { "symbol=o?ter,x", "outer.isra.0", true },
		      { "symbol=re:^outer$", "outer.isra.0", true },
		      { "symbol=outer.isra.0", "outer.isra.0", true },
		      { "symbol=outer.isra.0", "outer.isra.1", false },
		      { "symbol=outer.isra.0", "outer", false },
		      { "symbol=outer", "outer.coldest", false },
		      { "symbol=outer", "outer.own", false },
		      { "symbol=out", "outer.isra.0", false },
		      { "symbol=foo::bar", "_ZN3foo3barEi.constprop.0", true },
		      { "symbol=foo::bar(int)", "_ZN3foo3barEi.constprop.0", true },
		      { "symbol=foo::bar(int) [clone .constprop.0]", "_ZN3foo3barEi.constprop.0", true },
		      { "symbol=_ZN3foo3barEi", "_ZN3foo3barEi.part.0", true },
		      { "symbol=foo::bar(char)", "_ZN3foo3barEi.part.0", false },
		      { "symbol=f[abi:cxx11]", "_Z1fB5cxx11v", true },
		      { "symbol=f", "_Z1fB5cxx11v", true },
		      { "symbol=id<..>", "_Z2idIiET_S0_", true } };

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (matches(cases[i].rule, cases[i].name) != cases[i].fits)
			fail_msg("%s %s %s", cases[i].rule, cases[i].fits ? "should mean" : "should not mean", cases[i].name);
}

/* Whatever reads arguments means a clone only where it was named: its arguments may be others. */
static void clones_have_other_arguments(void **state)
{
	static const struct {
		const char *pattern, *name;
		bool itself;
	} cases[] = { { "outer", "outer.isra.0", false },
		      { "outer.isra.0", "outer.isra.0", true },
		      { "outer", "outer", true },
		      { "outer", "outer.lto_priv.0", true },
		      { "outer.*", "outer.part.0", true },
		      { "?uter", "outer.part.0", false },
		      { "foo::bar", "_ZN3foo3barEi", true },
		      { "foo::bar", "_ZN3foo3barEi.constprop.0", false } };

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct ada_error error = { "" };
		struct ada_pattern_list list = {};
		struct ada_names names;

		assert_int_equal(ada_pattern_list_add(&list, cases[i].pattern, &error), 0);
		ada_names_open(&names, cases[i].name, NULL);
		assert_true(ada_pattern_list_matches(&list, &names));
		if (ada_pattern_list_matches_itself(&list, &names) != cases[i].itself)
			fail_msg("%s %s %s", cases[i].pattern, cases[i].itself ? "should mean" : "should not mean", cases[i].name);
		ada_names_close(&names);
		ada_pattern_list_free(&list);
	}
}

/* The short cut: no name that a literal means may be told to fit nothing without being demangled. Every name that a large C++
 * library exports is asked for itself, as people would write it. */
static void may_match_is_no_less(void **state)
{
	struct ada_elf_symbols symbols = { 0 };
	struct ada_error error = { "" };
	struct ada_pattern pattern;
	struct ada_names names;
	struct ada_elf *elf;
	size_t demangled = 0, offset;

	assert_int_equal(ada_elf_open(&elf, library, &error), 0);
	assert_int_equal(ada_elf_symbols_read(elf, &symbols), 0);
	for (size_t i = 0; i < symbols.count; i++) {
		const char *forms[3];

		ada_names_open(&names, symbols.items[i].name, NULL);
		forms[0] = names.plain;
		forms[1] = names.demangled;
		forms[2] = names.bare;
		for (size_t j = 0; j < 3; j++) {
			if (!forms[j])
				continue;
			demangled += j > 0;
			assert_int_equal(ada_pattern_literal(&pattern, forms[j], i % 2, &error), 0);
			if (!ada_pattern_may_match(&pattern, names.mangled) || !ada_pattern_matches(&pattern, &names))
				fail_msg("%s isn't found as %s", names.mangled, forms[j]);
			ada_pattern_free(&pattern);
		}
		ada_names_close(&names);
	}
	assert_true(demangled > 1000);
	ada_array_free(&symbols);
	ada_elf_close(elf);
	assert_int_equal(ada_pattern_compile(&pattern, "ns::malloc(int)", false, &offset, &error), 0);
	assert_true(ada_pattern_may_match(&pattern, "_ZN2ns6mallocEi"));
	assert_false(ada_pattern_may_match(&pattern, "_ZN2ns4freeEi"));
	ada_pattern_free(&pattern);
}

int main(int count, char **arguments)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists),    cmocka_unit_test(quotes_and_regexes),	   cmocka_unit_test(invalid_regex),
		cmocka_unit_test(matching), cmocka_unit_test(clones_have_other_arguments), cmocka_unit_test(may_match_is_no_less)
	};

	if (count != 2)
		return 1;
	library = arguments[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
