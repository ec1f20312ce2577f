/* Regions of trampolines: how bodies of any length lie in them, and that unwinders are told of each of their bytes. What they
 * are told is right is for tests/programs/signals/step_backtrace.c. */
#include <dlfcn.h>
#include <stdlib.h>
#include "agent/core.h"
#include "../../test.h"

/* Provided by whoever brings the core into a process. */
bool ada_module_text_is_hookable(uint64_t return_address)
{
	return true;
}

void ada_process_forked_slow(void)
{
}

/* Bodies of every length, in more than a block: each in one piece, and every byte of them with unwind tables. */
static void unwinders_find_regions(void **state)
{
	static const uint8_t code[255];
	const uint64_t near = (uint64_t)&unwinders_find_regions;
	struct dl_find_object own, found;
	struct ada_region *region;
	uint64_t entries[300] = { 0 };
	uint32_t cells = 0;

	assert_int_equal(_dl_find_object((void *)near, &own), 0);
	assert_int_equal(ada_region_cells(0, false), 1);
	assert_int_equal(ada_region_cells(38, false), 1);
	assert_int_equal(ada_region_cells(39, false), 2);
	assert_int_equal(ada_region_cells(30, true), 1);
	assert_int_equal(ada_region_cells(31, true), 2);
	assert_int_equal(ada_region_cells(255, true), 5);
	assert_int_equal(ada_region_reserve(&region, near, near, 20000), 0);
	for (uint32_t i = 0; cells < 20000 - 5; i++) {
		struct ada_hook_spec spec = { .body = code, .body_bytes = i % 255 + 1, .red_zone = i / 7 % 2 };
		uint64_t entry, last;
		uint8_t *body;

		assert_int_equal(ada_region_hook(region, &spec, &entry, &body), 0);
		cells += ada_region_cells(spec.body_bytes, spec.red_zone);
		assert_int_equal(ada_region_body(entry), (uint64_t)body);
		last = (uint64_t)body + spec.body_bytes - 1;
		for (uint64_t at = entry; at <= last; at = at < last && at + 64 > last ? last : at + 64)
			assert_int_equal(((struct ada_hook *)((at & -64ull) + ADA_BLOCK_BYTES))->start, entry + 8 * spec.red_zone);
		if (!i)
			assert_false(ada_region_holds(entry));		/* not before it is sealed */
		if (i % 100)
			continue;
		assert_int_equal(((struct ada_hook *)(entry + ADA_BLOCK_BYTES))->original, 0);
		entries[i / 100] = entry;
	}
	assert_int_equal(ada_region_seal(region), 0);
	for (uint32_t i = 0; entries[i]; i++) {
		assert_true(ada_region_holds(entries[i]));
		assert_false(ada_region_holds(entries[i] + ADA_BLOCK_BYTES));
		assert_int_equal(_dl_find_object((void *)entries[i], &found), 0);
		assert_ptr_not_equal(found.dlfo_eh_frame, own.dlfo_eh_frame);
		assert_ptr_equal(found.dlfo_link_map, own.dlfo_link_map);
		assert_int_equal(_dl_find_object((void *)(entries[i] + ADA_BLOCK_BYTES), &found), -1);
	}
	assert_int_equal(_dl_find_object(malloc, &found), 0);
	assert_ptr_not_equal(found.dlfo_link_map, own.dlfo_link_map);
	assert_int_equal(_dl_find_object(NULL, &found), -1);
}

/* Only those of GOT hooks have one that can be changed. */
static void hooks_of_imports_are_known_by_their_trampolines(void **state)
{
	static const uint8_t code[8];
	const uint64_t near = (uint64_t)&unwinders_find_regions;
	struct ada_hook_spec import = { .function_id = 0x500000007, .target = 0x1234 }, entry = { .body = code, .body_bytes = 8 };
	struct ada_region *region;
	uint64_t got, patched, id = 0, *target;
	uint8_t *body;

	assert_int_equal(ada_region_reserve(&region, near, near, 2), 0);
	assert_int_equal(ada_region_hook(region, &import, &got, &body), 0);
	assert_int_equal(ada_region_hook(region, &entry, &patched, &body), 0);
	assert_int_equal(ada_region_seal(region), 0);
	target = ada_region_target(got, &id);
	assert_non_null(target);
	assert_int_equal(*target, 0x1234);
	assert_int_equal(id, 0x500000007);
	assert_null(ada_region_target(patched, &id));
	assert_null(ada_region_target(ada_region_body(got), &id));
	assert_null(ada_region_target(got + ADA_BLOCK_BYTES, &id));
	assert_null(ada_region_target((uint64_t)malloc, &id));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unwinders_find_regions), cmocka_unit_test(hooks_of_imports_are_known_by_their_trampolines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
