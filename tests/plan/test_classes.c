/* What type information says of classes. argv: libraries built from classes.S, whose words are relocated in one way or another. */
#include "../test.h"
#include <stdio.h>
#include "elf/file/classes.h"

static const char *const *paths;
static int path_count;
static struct ada_elf *elf;

static struct ada_elf_target target_of(const char *wanted)
{
	const struct ada_elf_section *symbols = ada_elf_section_named(elf, ".dynsym"), *names = ada_elf_section_named(elf, ".dynstr");

	for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols->bytes; at += sizeof(Elf64_Sym)) {
		Elf64_Sym symbol;

		memcpy(&symbol, symbols->data + at, sizeof symbol);
		if (!strcmp(ada_elf_string(names->data, names->bytes, symbol.st_name), wanted))
			return (struct ada_elf_target){ "", symbol.st_value };
	}
	fail_msg("no symbol %s", wanted);
	return (struct ada_elf_target){};
}

static void expect_base(const char *class, const char *base)
{
	struct ada_elf_target found = { NULL, 1 }, wanted = target_of(base);

	if (!ada_elf_first_base(elf, target_of(class).address, &found))
		fail_msg("%s has no base", class);
	assert_int_equal(found.address, wanted.address);
	assert_string_equal(found.symbol, base);
}

static void expect_none(const char *class)
{
	struct ada_elf_target found;

	if (ada_elf_first_base(elf, target_of(class).address, &found))
		fail_msg("%s has a base", class);
}

static void expect_name(const char *class, const char *name)
{
	struct ada_elf_target at = target_of(class);

	assert_string_equal(ada_elf_class_name(elf, &at), name);
}

static void test_bases(void)
{
	expect_base("_ZTI7Failure", "_ZTISt13runtime_error"); /* elsewhere: address 0 */
	expect_base("_ZTI4Deep", "_ZTI7Failure");
	expect_base("_ZTI4Both", "_ZTI7Failure");
	expect_none("_ZTI6Simple");
	expect_none("_ZTI5Apart");
	expect_none("_ZTI6Beyond");
	expect_none("_ZTI5Other");
}

static void test_names(void)
{
	struct ada_elf_target library = { "_ZTISt13runtime_error", 0 }, nowhere = { "", 0 };

	expect_name("_ZTI6Simple", "6Simple");
	expect_name("_ZTI4Deep", "4Deep"); /* the asterisk says that only its address counts */
	expect_name("_ZTI4Both", "4Both");
	assert_string_equal(ada_elf_class_name(elf, &library), "St13runtime_error");
	assert_null(ada_elf_class_name(elf, &nowhere));
}

static void test_virtual_functions(void)
{
	assert_string_equal(ada_elf_virtual(elf, "4Deep", 2), "_ZNKSt13runtime_error4whatEv");
	assert_string_equal(ada_elf_virtual(elf, "4Both", 2), "_ZNK4Both4whatEv");
	assert_null(ada_elf_virtual(elf, "4Deep", 0));
	assert_null(ada_elf_virtual(elf, "4Deep", 1u << 31));
	assert_null(ada_elf_virtual(elf, "6Simple", 2));
	assert_null(ada_elf_virtual(elf, "", 2));
}

static void test_strange_places(void)
{
	const uint64_t addresses[] = { 0, 1, 8, elf->address_end - 1, elf->address_end, UINT64_MAX, UINT64_MAX - 7, 1ull << 63 };

	for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++) {
		struct ada_elf_target at = { "", addresses[i] }, base;

		assert_false(ada_elf_first_base(elf, addresses[i], &base));
		assert_null(ada_elf_class_name(elf, &at));
	}
}

static void test_all(void **unused)
{
	for (int i = 0; i < path_count; i++) {
		assert_int_equal(ada_elf_open(&elf, paths[i], NULL), 0);
		test_bases();
		test_names();
		test_virtual_functions();
		test_strange_places();
		ada_elf_close(elf);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_all) };

	paths = (const char *const *)argv + 1;
	path_count = argc - 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
