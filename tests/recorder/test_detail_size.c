/* The size of the detail buffer that is said to have sufficed: with it, the same program's pre-roll is there. And how much of it suffices. */
#include "detail_world.h"

#define PRE_EVENTS 80000 /* of 176 and 80 bytes in turn: 10 MB, and a quarter of the pool stays free */

/* Whatever its threads did before; the first one marks. Gives the size that is said to have sufficed; 0: it did. */
static uint64_t size_for(const struct world_options *options, void (*before)(struct world *world))
{
	struct world world;
	const struct ada_window *window;
	uint64_t bytes;

	world_make(&world, options);
	before(&world);
	for (uint32_t events = 0; events < PRE_EVENTS + 1000; events += 100)
		world_run(&world, events / 100 % options->threads, 100);
	fake_mark(&world.threads[0], (uint64_t)PRE_EVENTS * TICK, 0, 0, 10);
	world_run(&world, 0, 100);
	world_finish(&world);
	world_check(&world);
	assert_int_equal(world_windows(&world), 1);
	window = world_window(&world, 0);
	bytes = window->shorts & ADA_SHORT_OVERRUN ? window->sufficient_bytes : 0;
	world_end(&world);
	return bytes;
}

static void nothing(struct world *world)
{
}

/* So that the rate comes out much lower than it was before the mark. */
static void little(struct world *world)
{
	for (int i = 0; i < 4; i++) {
		world_run(world, 0, 100);
		world_pass(world, 110000000);
	}
}

static void check(uint32_t threads, void (*before)(struct world *world))
{
	struct world_options options = { .detail_bytes = 4 << 20, .threads = threads };

	options.detail_bytes = size_for(&options, before);
	assert_int_equal(options.detail_bytes, 16 << 20);
	assert_int_equal(size_for(&options, before), 0);
}

static void one_thread(void **state)
{
	check(1, nothing);
}
static void one_thread_that_did_little_before(void **state)
{
	check(1, little);
}
static void several_threads(void **state)
{
	check(4, nothing);
}

/* What no pre-roll reaches is not worth the memory. */
static void history_suffices_as_far_as_pre_rolls_reach(void **state)
{
	struct world world;

	world_make(&world, &(const struct world_options){ .detail_bytes = 4 << 20, .threads = 1 });
	__atomic_store_n(&world.segment.shm->detail.history, 16, __ATOMIC_RELAXED);
	world_run(&world, 0, 1022);
	assert_true(ada_details_reach(world.details, world_now(&world))); /* all is still there */
	for (int i = 0; i < 60; i++)
		world_run(&world, 0, 1022);
	assert_false(ada_details_reach(world.details, world_now(&world)));
	world_pass(&world, 2100000000);
	assert_true(ada_details_reach(world.details, world_now(&world)));
	ada_details_pre_rolls(world.details, 2000000000, 0);
	assert_false(ada_details_reach(world.details, world_now(&world)));
	world_pass(&world, 2000000000);
	assert_true(ada_details_reach(world.details, world_now(&world)));
	ada_details_pre_rolls(world.details, 2000000000, 8 * 1022);
	assert_true(ada_details_reach(world.details, world_now(&world)));
	ada_details_pre_rolls(world.details, 2000000000, 8 * 1022 + 1);
	assert_false(ada_details_reach(world.details, world_now(&world)));
	world_finish(&world);
	world_end(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(one_thread), cmocka_unit_test(one_thread_that_did_little_before),
					    cmocka_unit_test(several_threads),
					    cmocka_unit_test(history_suffices_as_far_as_pre_rolls_reach) };

	return world_run_tests("detail size", tests);
}
