/* forms.S has a function for each form of patch and each refusal: the planner must find what is known of each, and those
 * that can be called must still give their results when they are patched. argv[1]: the library built from it. */
#include <dlfcn.h>
#include <string.h>
#include "../test.h"
#include "apply.h"
#include "plan/ground/refusal.h"
#include "tables.h"

static const char *library_path;
static void *library;
static struct ada_plan *plan;

struct expectation {
	const char *name;
	unsigned form; /* 0: refused */
	unsigned refusal;
	unsigned offset; /* of the patch from the function's start */
	unsigned body_bytes;
};

static const struct expectation expectations[] = {
	{ "jump_plain", ADA_PATCH_JUMP, 0, 0, 8 + 5 }, /* push 1, mov 3, lea 4; jmp */
	{ "jump_endbr", ADA_PATCH_JUMP, 0, 4, 8 + 5 },
	{ "nop_pad", ADA_PATCH_NOP, 0, 0, 5 }, /* the jump back alone */
	{ "nop_pad_endbr", ADA_PATCH_NOP, 0, 4, 5 },
	{ "nop_short", ADA_PATCH_JUMP, 0, 0, 6 + 5 },
	{ "padding_three", ADA_PATCH_PADDING, 0, 0, 4 },
	{ "padding_one", ADA_PATCH_PADDING, 0, 0, 1 },
	{ "rip_immediate", ADA_PATCH_JUMP, 0, 0, 7 + 5 },
	{ "rip_load", ADA_PATCH_JUMP, 0, 0, 7 + 5 },
	{ "short_jcc", ADA_PATCH_JUMP, 0, 0, 2 + 6 + 4 + 5 },
	{ "near_jmp", ADA_PATCH_JUMP, 0, 0, 5 },
	{ "short_jmp", ADA_PATCH_JUMP, 0, 0, 5 },
	{ "use_jrcxz", ADA_PATCH_JUMP, 0, 0, 3 + 4 + 5 + 5 },
	{ "use_loop", ADA_PATCH_JUMP, 0, 0, 3 + 2 + 5 },
	{ "loop_at_entry", ADA_PATCH_JUMP, 0, 0, 2 + 2 + 6 + 5 },
	{ "loop_after_endbr", ADA_PATCH_JUMP, 0, 4, 2 + 2 + 6 + 5 },
	{ "long_loop_endbr", ADA_PATCH_ISLAND, 0, 0, 4 + 5 },
	{ "island_target", ADA_PATCH_ISLAND, 0, 0, 2 + 5 },
	{ "island_call", ADA_PATCH_ISLAND, 0, 0, 2 + 5 },
	{ "call_first", ADA_PATCH_JUMP, 0, 0, 13 + 5 }, /* push and mov 13, jmp */
	{ "call_second", ADA_PATCH_JUMP, 0, 0, 1 + 13 + 5 },
	{ "call_register", ADA_PATCH_ISLAND, 0, 0, 1 + 13 + 2 },
	{ "call_rip", ADA_PATCH_JUMP, 0, 0, 13 + 6 },
	{ "call_stack", ADA_PATCH_JUMP, 0, 0, 2 + 13 + 7 }, /* the displacement needs 32 bits */
	{ "table_target", ADA_PATCH_ISLAND, 0, 0, 2 + 5 },
	{ "pointer_target", ADA_PATCH_ISLAND, 0, 0, 2 + 5 },
	{ "label_target", ADA_PATCH_ISLAND, 0, 0, 2 + 5 },
	{ "landing_pad", ADA_PATCH_ISLAND, 0, 0, 2 + 5 },
	{ "foreign_target", ADA_PATCH_ISLAND, 0, 0, 2 + 5 },
	{ "foreign_source", ADA_PATCH_JUMP, 0, 0, 3 + 5 },
	{ "packed_one", 0, ADA_REFUSAL_TOO_SHORT, 0, 0 },
	{ "packed_short", ADA_PATCH_ISLAND, 0, 0, 2 + 5 },
	{ "packed_next", ADA_PATCH_JUMP, 0, 0, 16 + 5 }, /* twice 8, for the island of packed_short */
	{ "falls_through", ADA_PATCH_ISLAND, 0, 0, 2 + 5 },
	{ "fallen_into", ADA_PATCH_PADDING, 0, 0, 4 },
	{ "two_entries", ADA_PATCH_ISLAND, 0, 0, 2 + 5 },
	{ "second_entry", ADA_PATCH_PADDING, 0, 0, 4 },
	{ "endbr_alone", ADA_PATCH_ISLAND, 0, 0, 4 + 5 },
	{ "behind_endbr", ADA_PATCH_JUMP, 0, 0, 4 + 2 + 5 },
	{ "no_entry", 0, ADA_REFUSAL_NO_ENTRY_CFI, 0, 0 },
	{ "inner_entry", 0, ADA_REFUSAL_NO_ENTRY_CFI, 0, 0 },
	{ "labelled_first", 0, ADA_REFUSAL_LABEL, 0, 0 },
	{ "labelled_second", ADA_PATCH_ISLAND, 0, 0, 2 + 5 },
	{ "labelled_behind", ADA_PATCH_JUMP, 0, 0, 7 + 5 },
	{ "labelled_loop", ADA_PATCH_ISLAND, 0, 0, 2 + 5 },
	{ "labelled_only", ADA_PATCH_JUMP, 0, 0, 7 + 5 },
	{ "marked_inside", ADA_PATCH_ISLAND, 0, 0, 2 + 5 },
	{ "setjmp", 0, ADA_REFUSAL_RETURNS_TWICE, 0, 0 },
	{ "longjmp", ADA_PATCH_JUMP, 0, 0, 5 + 5 },
	{ "undecodable_first", 0, ADA_REFUSAL_UNDECODABLE, 0, 0 },
	{ "prefixed_jump", 0, ADA_REFUSAL_UNDECODABLE, 0, 0 },
	{ "transaction", 0, ADA_REFUSAL_UNDECODABLE, 0, 0 },
	{ "chosen", 0, ADA_REFUSAL_IFUNC_RESOLVER, 0, 0 },
};

static const struct ada_plan_function *find(const char *name)
{
	const struct ada_plan_function *function = ada_plan_functions(plan);

	for (uint32_t i = 0; i < ada_plan_header(plan)->function_count; i++, function++)
		if (!strcmp(ada_plan_string(plan, function->name), name))
			return function;
	return NULL;
}

static void test_forms(void **unused)
{
	for (size_t i = 0; i < sizeof expectations / sizeof *expectations; i++) {
		const struct expectation *expected = &expectations[i];
		const struct ada_plan_function *function = find(expected->name);
		const struct ada_plan_hook *hook;

		if (!function)
			fail_msg("%s is no function", expected->name);
		if (function->refusal != expected->refusal || (function->hook == ADA_PLAN_NONE) != !expected->form)
			fail_msg("%s: refusal '%s'", expected->name, ada_refusal_key(function->refusal));
		if (!expected->form)
			continue;
		hook = &ada_plan_hooks(plan)[function->hook];
		if (hook->form != expected->form || hook->patch_address != function->address + expected->offset ||
		    hook->body_bytes != expected->body_bytes)
			fail_msg("%s: form %u, offset %u, body of %u bytes", expected->name, hook->form,
				 (unsigned)(hook->patch_address - function->address), hook->body_bytes);
	}
}

/* What in a body isn't where it was, by hand. */
static void test_origins(void **unused)
{
	static const struct {
		const char *name;
		struct ada_plan_origin origins[8];
	} cases[] = {
		{ "jump_plain", { { 0, 0, 0, 0 } } },
		{ "nop_pad_endbr", { { 0, 0, 0, 0 } } },
		{ "short_jcc", { { 0, 0, 0, 0 }, { 8, 4, 0, 0 } } }, /* test 2, jz 2 as 6, lea */
		{ "use_jrcxz", { { 0, 0, 0, 0 }, { 5, 3, 0, 0 }, { 7, 3, 0, 0 }, { 12, 5, 0, 0 } } },
		{ "call_second", { { 0, 0, 0, 0 }, { 6, 1, 8, 0 }, { 14, 1, 8, 0 } } },
		{ "call_rip", { { 0, 0, 0, 0 }, { 5, 0, 8, 0 }, { 13, 0, 8, 0 } } },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct ada_plan_hook *hook = &ada_plan_hooks(plan)[find(cases[i].name)->hook];
		const struct ada_plan_origin *origin = origins_of(plan, hook);
		size_t count = 1;

		while (count < 8 && cases[i].origins[count].body)
			count++;
		if (memcmp(origin, cases[i].origins, count * sizeof *origin))
			fail_msg("origins of %s", cases[i].name);
		assert_int_equal(origin[count].body, ADA_ORIGIN_END);
	}
}

static void test_parts(void **unused)
{
	static const char *const entered[] = { "part_jumped", "part_returns", "part_starts", "part_again" };
	static const char *const called[] = { "part_leaf", "part_called", "part_caller", "jump_plain" };
	static const char *const refused[] = { "part_looks", "part_of_looks", "part_further" };

	for (size_t i = 0; i < sizeof entered / sizeof *entered; i++)
		if (find(entered[i])->hook == ADA_PLAN_NONE || !(ada_plan_hooks(plan)[find(entered[i])->hook].flags & ADA_HOOK_RED_ZONE))
			fail_msg("%s would lose its red zone", entered[i]);
	for (size_t i = 0; i < sizeof called / sizeof *called; i++)
		if (find(called[i])->hook == ADA_PLAN_NONE || ada_plan_hooks(plan)[find(called[i])->hook].flags & ADA_HOOK_RED_ZONE)
			fail_msg("%s has no red zone to be left alone", called[i]);
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
		assert_int_equal(find(refused[i])->refusal, ADA_REFUSAL_CALLER_LOOKUP);
}

static void test_barriers(void **unused)
{
	static const char *const hooked[] = { "barrier_adds", "barrier_ors" }, *const refused[] = { "adds_to_return", "exchanges_return" };

	for (size_t i = 0; i < 2; i++) {
		assert_int_not_equal(find(hooked[i])->hook, ADA_PLAN_NONE);
		assert_int_equal(find(refused[i])->refusal, ADA_REFUSAL_CALLER_LOOKUP);
	}
}

static void test_what_is_a_function(void **unused)
{
	const struct ada_plan_function *nameless = find("after_nameless");

	assert_null(find("jump_plain.cold"));
	assert_null(find("resolver"));
	assert_true(find("chosen")->flags & ADA_FUNCTION_IFUNC);
	assert_true(find("longjmp")->flags & ADA_FUNCTION_INTERCEPT);
	assert_true(find("jump_plain")->flags & ADA_FUNCTION_EXPORTED);
	assert_true(nameless[-1].flags & ADA_FUNCTION_NAMELESS);
	assert_int_equal(nameless[-1].size, 6);
	assert_int_not_equal(nameless[-1].hook, ADA_PLAN_NONE);
}

static uint64_t call1(const char *name, uint64_t a, uint64_t b)
{
	uint64_t (*function)(uint64_t, uint64_t) = (uint64_t(*)(uint64_t, uint64_t))dlsym(library, name);
	const struct ada_plan_function *planned = find(name);
	uint64_t before, result;

	assert_non_null(function);
	assert_int_not_equal(planned->hook, ADA_PLAN_NONE);
	before = apply_count(planned->hook);
	result = function(a, b);
	/* Once a call, also where its loop begins at the patch. */
	assert_int_equal(apply_count(planned->hook), before + 1);
	return result;
}

static void test_results(void **unused)
{
	const uint64_t jump_plain = (uint64_t)dlsym(library, "jump_plain");

	assert_int_equal(call1("jump_plain", 100, 0), 101);
	assert_int_equal(call1("jump_endbr", 100, 0), 102);
	assert_int_equal(call1("nop_pad", 100, 0), 103);
	assert_int_equal(call1("nop_pad_endbr", 100, 0), 104);
	assert_int_equal(call1("nop_short", 100, 0), 105);
	assert_int_equal(call1("padding_three", 100, 0), 100);
	call1("padding_one", 0, 0);
	assert_int_equal(call1("rip_immediate", 0, 0), 11);
	assert_int_equal(call1("rip_load", 100, 0), 107);
	assert_int_equal(call1("short_jcc", 1, 0), 21);
	assert_int_equal(call1("short_jcc", 0, 0), 21);
	assert_int_equal(call1("short_jcc", 80, 0), 100);
	assert_int_equal(call1("near_jmp", 100, 0), 101);
	assert_int_equal(call1("short_jmp", 100, 0), 122);
	assert_int_equal(call1("use_jrcxz", 100, 0), 123);
	assert_int_equal(call1("use_jrcxz", 0, 0), 24);
	assert_int_equal(call1("use_loop", 10, 0), 55);
	assert_int_equal(call1("loop_at_entry", 10, 0), 55);
	assert_int_equal(call1("loop_after_endbr", 10, 1), 56);
	assert_int_equal(call1("long_loop_endbr", 10, 1), 56);
	assert_int_equal(call1("call_first", 100, 0), 131);
	assert_int_equal(call1("call_second", 100, 0), 132);
	assert_int_equal(call1("call_register", 100, jump_plain), 133);
	assert_int_equal(call1("call_rip", 100, 0), 134);
	assert_int_equal(call1("call_stack", 100, jump_plain), 101);
	assert_int_equal(call1("island_target", 3, 0), 0);
	call1("island_call", 3, 0);
	assert_int_equal(call1("foreign_target", 7, 0), 7);
	assert_int_equal(call1("foreign_source", 7, 0), 8);
	assert_int_equal(call1("landing_pad", 9, 0), 9);
	call1("pointer_target", 0, 0);
	assert_int_equal(call1("two_entries", 5, 77), 5);
	assert_int_equal(call1("packed_short", 8, 0), 8);
	assert_int_equal(call1("packed_next", 8, 0), 0x12345678 + 16);
	assert_int_equal(call1("second_entry", 5, 77), 82);
	assert_int_equal(call1("endbr_alone", 5, 0), 31);
	assert_int_equal(call1("behind_endbr", 5, 0), 31);
	assert_int_equal(call1("after_nameless", 0, 0), 40);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_origins),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_barriers),
		cmocka_unit_test(test_what_is_a_function),
		cmocka_unit_test(test_results),
	};
	uint64_t *calls;

	library_path = argc > 1 ? argv[1] : "";
	library = apply_load(library_path, &calls, &plan);
	if (!library)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
