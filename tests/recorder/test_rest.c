/* When the scheduling lane rests: a program of two CPUs, of which only records are made up. */
#include "../test.h"
#include "recorder/sched/rest.h"

#define MS 1000000ull

struct world {
	struct ada_sched_rest rest;
	uint64_t on_ns[2], now_ns;
};

static struct world begin(double budget)
{
	return (struct world){ .rest = { .budget = budget, .cpus = 2 }, .now_ns = 1000 * MS };
}

/* A thread comes onto the CPU and leaves it, again and again: on it for `on_ns`, off for as long. */
static unsigned run(struct world *world, uint64_t on_ns, uint64_t for_ns)
{
	uint64_t end_ns = world->now_ns + for_ns;
	unsigned changes = 0;

	world->rest.on_ns = world->on_ns;
	while (world->now_ns < end_ns) {
		if (!world->rest.rests)
			ada_sched_rest_note(&world->rest, 1, &(AtfSchedEvent){ .timestamp_ns = world->now_ns, .kind = ATF_SCHED_ON });
		world->now_ns += on_ns;
		if (!world->rest.rests)
			ada_sched_rest_note(&world->rest, 1, &(AtfSchedEvent){ .timestamp_ns = world->now_ns, .kind = ATF_SCHED_OFF });
		world->now_ns += on_ns;
		changes += ada_sched_rest_look(&world->rest, world->now_ns);
	}
	return changes;
}

/* 5 us for two records of 1 us: 67 % of the rest. */
static void it_rests_where_switches_are_dear(void **state)
{
	struct world world = begin(0.05);

	assert_int_equal(run(&world, 5000, 1000 * MS), 1);
	assert_true(world.rest.rests);
	assert_true(world.rest.share == 0);
}

static void it_comes_back_and_stays_away_for_longer_each_time(void **state)
{
	struct world world = begin(0.05);
	uint64_t rested_ns = 0, begun_ns = world.now_ns;

	for (unsigned i = 0; i < 400; i++) { /* 100 s */
		bool rests = world.rest.rests;

		run(&world, 5000, 250 * MS);
		rested_ns += rests && world.rest.rests ? 250 * MS : 0;
	}
	assert_true(rested_ns > (world.now_ns - begun_ns) / 100 * 96);
	assert_int_equal(world.rest.pause_ns, 80000 * MS);
}

static void it_stays_where_switches_are_cheap(void **state)
{
	struct world world = begin(0.05);

	assert_int_equal(run(&world, 100000, 20000 * MS), 0);
	assert_true(world.rest.share > 0.02 && world.rest.share < 0.021);
}

static void what_became_cheap_comes_back(void **state)
{
	struct world world = begin(0.05);

	run(&world, 5000, 1000 * MS);
	assert_true(world.rest.rests);
	run(&world, 100000, 20000 * MS);
	assert_false(world.rest.rests);
	run(&world, 5000, 1000 * MS);
	assert_int_equal(world.rest.pause_ns, 5000 * MS); /* as if for the first time */
}

static void without_a_budget_it_never_rests(void **state)
{
	struct world world = begin(0);

	assert_int_equal(run(&world, 1000, 2000 * MS), 0);
}

/* A start has hundreds of page faults within a few ms. */
static void a_start_proves_nothing(void **state)
{
	struct world world = begin(0.05);

	world.rest.on_ns = world.on_ns;
	ada_sched_rest_note(&world.rest, 0, &(AtfSchedEvent){ .timestamp_ns = world.now_ns, .kind = ATF_SCHED_ON });
	for (unsigned i = 0; i < 1000; i++)
		ada_sched_rest_note(&world.rest, 0, &(AtfSchedEvent){ .timestamp_ns = world.now_ns + i, .kind = ATF_SCHED_FAULT });
	assert_false(ada_sched_rest_look(&world.rest, world.now_ns + 5 * MS));
	assert_false(ada_sched_rest_look(&world.rest, world.now_ns + 200 * MS)); /* it has run all the time: 1 of 199 ms */
	assert_false(world.rest.rests);
}

/* Beside a thread that never leaves its CPU the same switches are cheap: 2 of 120 us, and not of 40. */
static void who_is_on_a_cpu_has_run(void **state)
{
	struct world alone = begin(0.05), beside = begin(0.05);

	assert_int_equal(run(&alone, 40000, 1000 * MS), 1);
	beside.rest.on_ns = beside.on_ns;
	ada_sched_rest_note(&beside.rest, 0, &(AtfSchedEvent){ .timestamp_ns = beside.now_ns, .kind = ATF_SCHED_ON });
	assert_int_equal(run(&beside, 40000, 1000 * MS), 0);
	assert_true(beside.rest.share > 0.01);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_rests_where_switches_are_dear),  cmocka_unit_test(it_comes_back_and_stays_away_for_longer_each_time),
		cmocka_unit_test(it_stays_where_switches_are_cheap), cmocka_unit_test(what_became_cheap_comes_back),
		cmocka_unit_test(without_a_budget_it_never_rests),   cmocka_unit_test(a_start_proves_nothing),
		cmocka_unit_test(who_is_on_a_cpu_has_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
