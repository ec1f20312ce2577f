/* Regions of trampolines: how bodies of any length lie in them, and that unwinders are told of each of their bytes. What they
 * are told is right is for tests/programs/signals/step_backtrace.c. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "abi/plan.h"
#include "agent/core/state.h"
#include "agent/hook/parts.h"
#include "../../test.h"

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
			assert_false(ada_region_holds(entry)); /* not before it is sealed */
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

static uint32_t passed; /* calls that the filter led on to the body */

static __attribute__((noinline)) void be_called(const uint32_t *mutex)
{
	passed += mutex != NULL;
}

/* Leads to the body what has nobody to wait for, else to the twin; its instructions are the function's beginning, for unwinders. */
static void filters_tell_who_waits(void **state)
{
	const uint64_t near = (uint64_t)&unwinders_find_regions;
	const uint8_t jump[] = { 0xff, 0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }; /* jmp *0(%rip), and where to */
	uint8_t body_code[sizeof jump];
	const struct ada_plan_origin origins[] = { { 0, 0, 0, 0 }, { .body = ADA_ORIGIN_END } };
	struct ada_hook_spec spec = { .function_id = 0x500000007,
				      .body = body_code,
				      .body_bytes = sizeof body_code,
				      .original = near,
				      .origins = (const uint8_t *)origins,
				      .number = 9 };
	const uint64_t target = (uint64_t)be_called;
	struct ada_region *region;
	uint64_t entry, twin, filter, id;
	uint8_t *body;

	memcpy(body_code, jump, sizeof jump);
	memcpy(body_code + 6, &target, sizeof target);
	assert_int_equal(ada_region_reserve(&region, near, near, 2 * ada_region_cells(sizeof jump, false) + 2), 0);
	for (int unlocks = 0; unlocks < 2; unlocks++) {
		assert_int_equal(ada_region_hook(region, &spec, &entry, &body), 0);
		assert_int_equal(ada_region_hook(region, &spec, &twin, &body), 0);
		assert_int_equal(ada_filter_build(region, entry, twin, unlocks ? ADA_FUNCTION_UNLOCK : ADA_FUNCTION_LOCK, &filter), 0);
		assert_int_equal(((struct ada_hook *)(twin + ADA_BLOCK_BYTES))->tells_holder, !unlocks);
		assert_memory_equal((void *)filter, unlocks ? "\x83\x3f\x01" : "\x83\x3f\x00", 3);
		memcpy((void *)twin, "\xc3", 1); /* ret: that it came here is all that counts */
		ada_filter_offer(entry, filter);
		assert_null(ada_region_target(entry, &id));
		assert_int_equal(ada_region_seal(region), 0);
		for (uint32_t word = 0; word < 3; word++) {
			passed = 0;
			((void (*)(const uint32_t *))filter)(&word);
			assert_int_equal(passed, word == (uint32_t)unlocks);
		}
		for (uint64_t at = filter; at < filter + ADA_FILTER_BYTES; at++)
			assert_true(ada_region_holds(at));
		assert_int_equal(ada_region_original(filter), near);
		assert_int_equal(ada_region_original(filter + 3), near);
		assert_int_equal(ada_region_original(filter + 9), near);
		assert_int_equal(ada_region_reserve(&region, near, near, 2 * ada_region_cells(sizeof jump, false) + 2), 0);
	}
}

static void filters_know_glibc(void **state)
{
	assert_true(ada_filter_holds((uint64_t)pthread_mutex_lock, (uint64_t)pthread_mutex_trylock, (uint64_t)pthread_mutex_unlock));
	assert_false(
		ada_filter_holds((uint64_t)pthread_rwlock_wrlock, (uint64_t)pthread_rwlock_trywrlock, (uint64_t)pthread_rwlock_unlock));
}

/* A near stub has its function's hook but for the cache word, goes to the function's body, and is code that unwinders find. */
static void near_stubs_lead_to_their_function(void **state)
{
	static const uint8_t code[8];
	const uint64_t near = (uint64_t)&unwinders_find_regions;
	struct ada_hook_spec spec = { .function_id = 0x500000007, .body = code, .body_bytes = 8, .original = near, .number = 9 };
	struct ada_region *region, *stubs;
	struct dl_find_object found, other;
	uint64_t entries[2], entry, stub, last = 0;
	uint8_t *body;

	assert_int_equal(ada_region_reserve(&region, near, near, 2), 0);
	for (int i = 0; i < 2; i++) {
		spec.red_zone = i;
		assert_int_equal(ada_region_hook(region, &spec, &entries[i], &body), 0);
	}
	assert_int_equal(ada_region_seal(region), 0);
	assert_int_equal(ada_region_reserve_near(&stubs, near, near, 100000), 0); /* several blocks */
	for (uint32_t i = 0; i < 100000; i++) {
		struct ada_hook *hook, *itself;

		entry = entries[i / 1000 % 2];
		itself = (struct ada_hook *)(entry + ADA_BLOCK_BYTES);
		stub = ada_region_near(stubs, entry, near + i);
		assert_true(stub && stub != last && labs((long)(stub - near)) < 1l << 31);
		last = stub;
		if (i % 1000)
			continue;
		hook = (struct ada_hook *)(stub + ADA_BLOCK_BYTES);
		assert_ptr_equal(ada_hook_of_near(hook), itself);
		assert_true(hook->is_near && !itself->is_near);
		assert_int_equal(hook->function_id, spec.function_id);
		assert_int_equal(hook->number, 9);
		assert_int_equal(hook->entry, (uint64_t)ada_entry_near);
		assert_int_equal(hook->stub, 0);
		assert_false(ada_region_holds(stub)); /* not before it is sealed */
		ada_region_near_known(hook, 1);
		assert_int_equal(hook->entry, ada_variant_entry(ADA_WAY_NEAR, 0, true));
		ada_region_near_known(hook, 2); /* known once, kept */
		assert_int_equal(hook->stub, 1);
	}
	assert_int_equal(ada_region_seal(stubs), 0);
	assert_true(ada_region_holds(last) && ada_region_holds(last + ADA_NEAR_STUB_BYTES - 1));
	assert_false(ada_region_holds(last + ADA_NEAR_STUB_BYTES));
	assert_int_equal(_dl_find_object((void *)last, &found), 0);
	assert_int_equal(_dl_find_object((void *)entry, &other), 0);
	assert_ptr_not_equal(found.dlfo_eh_frame, other.dlfo_eh_frame);
	assert_ptr_equal(found.dlfo_link_map, other.dlfo_link_map);
}

static int lines_of_maps(void)
{
	FILE *file = fopen("/proc/self/maps", "r");
	int lines = 0, c;

	assert_non_null(file);
	while ((c = fgetc(file)) != EOF)
		lines += c == '\n';
	fclose(file);
	return lines;
}

/* More modules than there is room for regions of their own within reach: they share, and what one builds leaves the others alone. */
static void small_modules_share_a_region(void **state)
{
	enum { MODULES = 5000, HOOKS = 3 };
	static const uint8_t code[] = { 0x48, 0x8d, 0x47, 0x01, 0xc3 }; /* lea 1(%rdi),%rax; ret */
	static uint64_t bodies[MODULES];
	const uint64_t near = (uint64_t)&unwinders_find_regions;
	int before = lines_of_maps();
	struct ada_region *region;

	for (int module = 0; module < MODULES; module++) {
		assert_int_equal(ada_region_reserve(&region, near, near, HOOKS), 0);
		for (int i = 0; i < HOOKS; i++) {
			struct ada_hook_spec spec = { .function_id = module, .body = code, .body_bytes = sizeof code, .original = near };
			uint64_t entry;
			uint8_t *body;

			assert_int_equal(ada_region_hook(region, &spec, &entry, &body), 0);
			assert_true(labs((long)(entry - near)) < 1l << 30);
			assert_true(module == 0 || entry != bodies[module - 1]);
			bodies[module] = (uint64_t)body;
			if (i == 0)
				assert_false(ada_region_holds(entry));
		}
		if (module % 10 == 9) { /* given up: the next one begins where it began */
			bodies[module] = bodies[module - 1];
			continue;
		}
		assert_int_equal(ada_region_seal(region), 0);
		assert_true(ada_region_holds(bodies[module]));
		assert_int_equal(((long (*)(long))bodies[module])(41), 42);
		assert_int_equal(((long (*)(long))bodies[module / 2])(41), 42);
	}
	assert_true(lines_of_maps() < before + 100);
	for (int module = 0; module < MODULES; module++) {
		struct dl_find_object found;

		assert_int_equal(((long (*)(long))bodies[module])(module), module + 1);
		assert_int_equal(_dl_find_object((void *)bodies[module], &found), 0);
	}
}

/* One that lies out of its reach is of no use to a module. */
static void a_shared_region_is_within_reach(void **state)
{
	const uint64_t near = (uint64_t)&unwinders_find_regions, far = near > 1ull << 44 ? near - (1ull << 40) : near + (1ull << 40);
	struct ada_region *one, *other, *again;
	uint64_t places[] = { near, far, near };
	struct ada_region **regions[] = { &one, &other, &again };

	for (int i = 0; i < 3; i++) {
		struct ada_hook_spec spec = { .function_id = 1, .target = 0x1234 };
		uint64_t entry;
		uint8_t *body;

		assert_int_equal(ada_region_reserve(regions[i], places[i], places[i] + 4096, 1), 0);
		assert_int_equal(ada_region_hook(*regions[i], &spec, &entry, &body), 0);
		assert_int_equal(ada_region_seal(*regions[i]), 0);
		assert_true(labs((long)(entry - places[i])) < 1l << 31);
	}
	assert_ptr_not_equal(one, other);
	assert_ptr_equal(one, again);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(unwinders_find_regions),
					    cmocka_unit_test(hooks_of_imports_are_known_by_their_trampolines),
					    cmocka_unit_test(filters_tell_who_waits),
					    cmocka_unit_test(filters_know_glibc),
					    cmocka_unit_test(near_stubs_lead_to_their_function),
					    cmocka_unit_test(small_modules_share_a_region),
					    cmocka_unit_test(a_shared_region_is_within_reach) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
