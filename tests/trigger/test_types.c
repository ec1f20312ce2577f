/* How results and arguments are read: from debug information, from libc's prototypes, or as int. */
#include "../test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "trigger/prototypes.h"
#include "trigger/trigger.h"

static const char *typed, *typed_clang, *bare, *typed_cc, *typed_cc_clang, *typed_asm;
struct expected {
	const char *name;
	int argument;
	enum ada_value_type type;
};

static void check(const char *path, const struct expected *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		enum ada_value_type type = ada_value_type_of(path, cases[i].name, cases[i].argument);

		if (type != cases[i].type)
			fail_msg("%s: %s, argument %d: %d, not %d", path ? path : "no file", cases[i].name, cases[i].argument, type,
				 cases[i].type);
	}
}
#define CHECK(path, cases) check(path, cases, sizeof cases / sizeof *(cases))

static void results_in_c(void **state)
{
	static const struct expected cases[] = { { "an_int", 0, ADA_VALUE_I32 },
						 { "a_uint", 0, ADA_VALUE_U32 },
						 { "a_long", 0, ADA_VALUE_I64 },
						 { "a_size", 0, ADA_VALUE_U64 },
						 { "a_char", 0, ADA_VALUE_I8 },
						 { "a_uchar", 0, ADA_VALUE_U8 },
						 { "a_bool", 0, ADA_VALUE_U8 },
						 { "a_short", 0, ADA_VALUE_I16 },
						 { "a_small", 0, ADA_VALUE_U16 },
						 { "a_sign", 0, ADA_VALUE_I32 },
						 { "an_enum", 0, ADA_VALUE_U32 },
						 { "a_pointer", 0, ADA_VALUE_U64 },
						 { "a_float", 0, ADA_VALUE_F32 },
						 { "a_double", 0, ADA_VALUE_F64 },
						 { "a_function", 0, ADA_VALUE_U64 },
						 { "hidden", 0, ADA_VALUE_U16 },
						 { "an_alias", 0, ADA_VALUE_I16 },
						 { "alias_of", 0, ADA_VALUE_I16 },
						 { "readlinkat", 0, ADA_VALUE_I16 },
						 { "an_int@@VERS_1", 0, ADA_VALUE_I32 },
						 /* No integer and no double: int, as where nothing is known. */
						 { "nothing", 0, ADA_VALUE_I32 },
						 { "a_pair", 0, ADA_VALUE_I32 },
						 { "a_long_double", 0, ADA_VALUE_I32 },
						 { "absent", 0, ADA_VALUE_I32 } };

	CHECK(typed, cases);
	CHECK(typed_clang, cases);
}

/* The Nth in a general register: double and float take none, a structure of 16 bytes two, a larger one none, and a place
 * for the result the first. */
static void arguments_in_c(void **state)
{
	static const struct expected cases[] = { { "many", 1, ADA_VALUE_I8 },	{ "many", 2, ADA_VALUE_U16 },
						 { "many", 3, ADA_VALUE_I32 },	{ "many", 4, ADA_VALUE_I32 },
						 { "many", 5, ADA_VALUE_I32 },	{ "many", 6, ADA_VALUE_U64 },
						 { "a_big", 1, ADA_VALUE_U64 }, { "a_big", 2, ADA_VALUE_I16 },
						 { "an_int", 1, ADA_VALUE_I32 } };

	CHECK(typed, cases);
	CHECK(typed_clang, cases);
}

static void in_cxx(void **state)
{
	static const struct expected cases[] = { { "_ZN2ns5Class6methodEsbRKNS_4HeldE", 0, ADA_VALUE_U8 },
						 { "_ZN2ns5Class6methodEsbRKNS_4HeldE", 1, ADA_VALUE_U64 }, /* this */
						 { "_ZN2ns5Class6methodEsbRKNS_4HeldE", 2, ADA_VALUE_I16 },
						 { "_ZN2ns5Class6methodEsbRKNS_4HeldE", 3, ADA_VALUE_U8 },
						 { "_ZN2ns5Class6methodEsbRKNS_4HeldE", 4, ADA_VALUE_U64 },
						 { "_ZN2ns5Class8by_valueENS_4HeldEa", 2, ADA_VALUE_U64 },
						 { "_ZN2ns5Class8by_valueENS_4HeldEa", 3, ADA_VALUE_I8 },
						 { "_ZN2ns5Class4heldEs", 1, ADA_VALUE_U64 },
						 { "_ZN2ns5Class4heldEs", 3, ADA_VALUE_I16 },
						 { "_ZN2ns5Class5outerENS_5OuterEs", 2, ADA_VALUE_U64 },
						 { "_ZN2ns5Class5outerENS_5OuterEs", 3, ADA_VALUE_I16 },
						 { "_ZN2ns5Class5plainENS_5PlainEs", 2, ADA_VALUE_I32 },
						 { "_ZN2ns5Class5plainENS_5PlainEs", 4, ADA_VALUE_I16 },
						 { "_ZN2ns5Class11virtual_oneEt", 2, ADA_VALUE_U16 },
						 { "_ZN2ns8identityItEET_S1_", 0, ADA_VALUE_U16 } };

	CHECK(typed_cc, cases);
	CHECK(typed_cc_clang, cases);
}

/* Debug information of assembly has no types, and a resolver's is not that of what it resolves: the prototypes go on. */
static void untyped(void **state)
{
	static const struct expected cases[] = { { "getpid", 0, ADA_VALUE_I32 },
						 { "strlen", 0, ADA_VALUE_U64 },
						 { "strlen", 1, ADA_VALUE_U64 },
						 { "read", 0, ADA_VALUE_I64 },
						 { "of_its_own", 0, ADA_VALUE_I32 } };

	CHECK(typed_asm, cases);
	assert_int_equal(ada_value_type_of(typed, "memcmp", 0), ADA_VALUE_I32);
	assert_int_equal(ada_value_type_of(typed_cc, "_ZN2ns4nullEv", 0), ADA_VALUE_U64);
}

/* Without debug information: libc's prototypes, by their own names; all else is int. */
static void from_prototypes(void **state)
{
	static const struct expected cases[] = { { "a_long", 0, ADA_VALUE_I32 },     { "open", 0, ADA_VALUE_I32 },
						 { "read", 0, ADA_VALUE_I64 },	     { "write", 3, ADA_VALUE_U64 },
						 { "malloc", 0, ADA_VALUE_U64 },     { "malloc", 1, ADA_VALUE_U64 },
						 { "mmap", 0, ADA_VALUE_U64 },	     { "strlen", 0, ADA_VALUE_U64 },
						 { "getc", 0, ADA_VALUE_I32 },	     { "lseek", 2, ADA_VALUE_I64 },
						 { "open64", 0, ADA_VALUE_I32 },     { "pread64", 0, ADA_VALUE_I64 },
						 { "readlinkat", 0, ADA_VALUE_I64 }, { "memcpy@GLIBC_2.14", 3, ADA_VALUE_U64 },
						 { "strtod", 0, ADA_VALUE_F64 },     { "htons", 1, ADA_VALUE_U16 },
						 { "pow", 1, ADA_VALUE_I32 },	     { "abort", 0, ADA_VALUE_I32 },
						 { "printf", 2, ADA_VALUE_I32 },     { "64", 0, ADA_VALUE_I32 } };

	CHECK(bare, cases);
	CHECK(NULL, cases);
	CHECK("/nonexistent", cases);
	CHECK("/etc/passwd", cases);
}

static void prototypes_are_sorted(void **state)
{
	assert_true(ada_prototype_count > 100);
	for (size_t i = 0; i < ada_prototype_count; i++) {
		const struct ada_prototype *prototype = &ada_prototypes[i];

		assert_ptr_equal(ada_prototype_find(prototype->name), prototype);
		assert_int_equal(strspn(prototype->types, "vcbhHiulzpsafd."), strlen(prototype->types));
		if (i)
			assert_true(strcmp(prototype[-1].name, prototype->name) < 0);
	}
}

int main(int count, char **arguments)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(results_in_c),    cmocka_unit_test(arguments_in_c),
					    cmocka_unit_test(in_cxx),	       cmocka_unit_test(untyped),
					    cmocka_unit_test(from_prototypes), cmocka_unit_test(prototypes_are_sorted) };

	if (count < 7)
		return EXIT_FAILURE;
	typed = arguments[1];
	bare = arguments[2];
	typed_cc = arguments[3];
	typed_clang = arguments[4];
	typed_cc_clang = arguments[5];
	typed_asm = arguments[6];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
