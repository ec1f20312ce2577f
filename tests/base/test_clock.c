/* A simulated hour of a drifting counter: the truth is known at every tick, so each conversion is held against it. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "base/clock_source.h"
#include "../test.h"

#define SECOND 1000000000.0

struct world {
	double ns; /* true time */
	double counter;
	double ticks_per_ns;  /* changes as the simulated machine warms up */
	double read_error_ns; /* readings are wrong by up to this */
	uint32_t random;
};

static double world_random(struct world *world)
{
	world->random = world->random * 1664525 + 1013904223;
	return (double)world->random / 2147483648.0 - 1;
}

static void world_pass(struct world *world, double ns)
{
	world->ns += ns;
	world->counter += ns * world->ticks_per_ns;
}

static struct ada_clock_reading world_read(void *context)
{
	struct world *world = context;

	world_pass(world, 1000);
	return (struct ada_clock_reading){ (uint64_t)world->counter, (uint64_t)(world->ns + world->read_error_ns * world_random(world)) };
}

static void world_pause(void *context)
{
	world_pass(context, 4000000);
}

static struct ada_clock *world_clock(struct world *world)
{
	struct ada_clock *clock;

	assert_int_equal(ada_clock_begin_source(&clock, &(struct ada_clock_source){ world_read, world_pause, world }), 0);
	assert_int_equal(ada_clock_settle(clock), 0);
	return clock;
}

struct walk {
	double worst_ns;
	uint64_t newest_ns;
	uint64_t newest_counter;
};

/* Lets `ns` pass in steps, converts the counter at each, and holds it against the truth. */
static void walk(struct walk *walk, struct world *world, struct ada_clock *clock, double ns, int steps)
{
	for (int i = 0; i < steps; i++) {
		uint64_t converted;

		world_pass(world, ns / steps);
		converted = ada_clock_ns(clock, (uint64_t)world->counter);
		assert_true(converted >= walk->newest_ns);
		walk->newest_ns = converted;
		walk->newest_counter = (uint64_t)world->counter;
		walk->worst_ns = fmax(walk->worst_ns, fabs((double)converted - world->ns));
	}
}

static const struct world typical = { .ns = 5000 * SECOND, .counter = 1e13, .ticks_per_ns = 2.7, .random = 1 };

static void test_an_hour_of_drift_stays_within_a_microsecond(void **state)
{
	struct world world = typical;
	struct ada_clock *clock;
	struct walk seen = { 0 };
	const struct ada_clock_anchor *anchors;

	world.read_error_ns = 20;
	clock = world_clock(&world);
	for (int i = 0; i < 36000; i++) {
		/* The rate swings by 20 ppm, one way and back every ten minutes: far more than a clock disciplined by NTP. */
		world.ticks_per_ns = 2.7 * (1 + 20e-6 * sin(i * 2 * 3.141592653589793 / 6000));
		walk(&seen, &world, clock, SECOND / 10, 3);
		ada_clock_calibrate(clock);
	}
	assert_true(seen.worst_ns < 1000);
	assert_in_range(ada_clock_anchors(clock, &anchors), 100, 36001);
	ada_clock_close(clock);
}

static void test_a_steady_counter_needs_few_anchors(void **state)
{
	struct world world = typical;
	struct ada_clock *clock = world_clock(&world);
	struct walk seen = { 0 };
	const struct ada_clock_anchor *anchors;

	for (int i = 0; i < 36000; i++) {
		walk(&seen, &world, clock, SECOND / 10, 1);
		ada_clock_calibrate(clock);
	}
	assert_true(seen.worst_ns < 200);
	assert_in_range(ada_clock_anchors(clock, &anchors), 1, 100);
	ada_clock_close(clock);
}

static void test_a_sudden_change_of_rate_is_made_good_without_falling(void **state)
{
	struct world world = typical;
	struct ada_clock *clock = world_clock(&world);
	struct walk seen = { 0 }, after = { 0 };

	for (int i = 0; i < 100; i++) {
		world.ticks_per_ns = i < 50 ? 2.7 : 2.7 * (1 + 100e-6);
		walk(&seen, &world, clock, SECOND / 10, 10);
		ada_clock_calibrate(clock);
	}
	/* 100 ppm for 100 ms are 10 us that no extrapolation can know. */
	assert_in_range((uint64_t)seen.worst_ns, 9000, 12000);
	after.newest_ns = seen.newest_ns;
	walk(&after, &world, clock, SECOND / 10, 10);
	assert_true(after.worst_ns < 150);
	ada_clock_close(clock);
}

static void test_rare_calibrations_converge(void **state)
{
	struct world world = typical;
	struct ada_clock *clock;
	struct walk seen = { 0 }, late = { 0 };

	world.read_error_ns = 20;
	clock = world_clock(&world);
	for (int i = 0; i < 100; i++) {
		walk(i < 10 ? &seen : &late, &world, clock, 3 * SECOND, 3);
		ada_clock_calibrate(clock);
	}
	assert_true(late.worst_ns < 1000);
	ada_clock_close(clock);
}

static void test_what_was_said_is_never_contradicted(void **state)
{
	struct world world = typical;
	struct ada_clock *clock = world_clock(&world);
	struct walk seen = { 0 };
	uint64_t counters[300], times[300];

	for (int i = 0; i < 300; i++) {
		world.ticks_per_ns = 2.7 * (1 + 1e-5 * world_random(&world));
		walk(&seen, &world, clock, SECOND / 10, 1);
		counters[i] = seen.newest_counter;
		times[i] = seen.newest_ns;
		ada_clock_calibrate(clock);
	}
	for (int i = 299; i >= 0; i--)
		assert_int_equal(ada_clock_ns(clock, counters[i]), times[i]);
	ada_clock_close(clock);
}

static void test_lines_join_at_each_anchor(void **state)
{
	struct world world = typical;
	struct ada_clock *clock = world_clock(&world);
	struct walk seen = { 0 };
	const struct ada_clock_anchor *anchors;
	size_t count;

	for (int i = 0; i < 300; i++) {
		world.ticks_per_ns = 2.7 * (1 + 1e-5 * world_random(&world));
		walk(&seen, &world, clock, SECOND / 10, 1);
		ada_clock_calibrate(clock);
	}
	count = ada_clock_anchors(clock, &anchors);
	assert_true(count > 100);
	for (size_t i = 1; i < count; i++) {
		assert_int_equal(ada_clock_ns(clock, anchors[i].counter), anchors[i].ns);
		/* One tick before: at most one ns before. */
		assert_in_range(anchors[i].ns - ada_clock_ns(clock, anchors[i].counter - 1), 0, 1);
	}
	ada_clock_close(clock);
}

/* As the drain converts: by the line in force while that holds, else by the clock, whose line is the next one in force. */
static void test_a_line_converts_as_the_clock_does(void **state)
{
	struct world world = typical;
	struct ada_clock *clock = world_clock(&world);
	uint64_t counters[1000], expected[1000], lines = 0;
	struct walk seen = { 0 };

	for (int i = 0; i < 1000; i++) {
		world.ticks_per_ns = 2.7 * (1 + 1e-5 * world_random(&world));
		world_pass(&world, SECOND / 100);
		if (i % 10 == 0)
			ada_clock_calibrate(clock);
		counters[i] = (uint64_t)world.counter;
	}
	/* Newest first among them, as when a quiet thread's chunk comes late. */
	counters[3] = counters[999];
	for (int i = 0; i < 1000; i++)
		expected[i] = ada_clock_ns(clock, counters[i]);
	for (int i = 0; i < 1000; i++) {
		struct ada_clock_line line = ada_clock_line(clock);

		if (!ada_clock_line_holds(&line, counters[i])) {
			assert_int_equal(ada_clock_ns(clock, counters[i]), expected[i]);
			line = ada_clock_line(clock);
			lines++;
		}
		assert_true(ada_clock_line_holds(&line, counters[i]));
		assert_int_equal(ada_clock_line_ns(&line, counters[i]), expected[i]);
	}
	assert_in_range(lines, 2, 900);
	ada_clock_converted(clock, counters[999]);
	walk(&seen, &world, clock, SECOND / 100, 1);
	ada_clock_close(clock);
}

/* A record of before the first calibration lies on the first line, drawn backwards. */
static void test_counters_before_the_first_anchor(void **state)
{
	struct world world = typical;
	uint64_t early = (uint64_t)world.counter;
	struct ada_clock *clock = world_clock(&world);
	uint64_t ns = ada_clock_ns(clock, early);

	assert_true(fabs((double)ns - typical.ns) < 100);
	assert_int_equal(ada_clock_ns(clock, early), ns);
	ada_clock_close(clock);
}

static void test_a_torn_record_does_not_drag_time_along(void **state)
{
	struct world world = typical;
	struct ada_clock *clock = world_clock(&world);
	struct walk seen = { 0 };

	ada_clock_ns(clock, UINT64_MAX);
	ada_clock_converted(clock, 1ull << 62);
	for (int i = 0; i < 100; i++) {
		walk(&seen, &world, clock, SECOND / 10, 2);
		ada_clock_calibrate(clock);
	}
	assert_true(seen.worst_ns < 1000);
	ada_clock_close(clock);
}

static void test_a_sleep_with_the_counter_stopped_steps_forward(void **state)
{
	struct world world = typical;
	struct ada_clock *clock = world_clock(&world);
	struct walk before = { 0 }, after = { 0 };

	walk(&before, &world, clock, SECOND / 10, 2);
	ada_clock_calibrate(clock);
	world.ns += 3600 * SECOND;
	ada_clock_calibrate(clock);
	after.newest_ns = before.newest_ns;
	for (int i = 0; i < 10; i++) {
		walk(&after, &world, clock, SECOND / 10, 2);
		ada_clock_calibrate(clock);
	}
	assert_true(after.worst_ns < 1000);
	assert_true(after.newest_ns - before.newest_ns > 3600 * (uint64_t)SECOND);
	ada_clock_close(clock);
}

static void test_whoever_comes_late_to_the_first_calibration_waits_no_more(void **state)
{
	struct world world = { .ticks_per_ns = 3 };
	struct ada_clock *clock;
	double ns;

	assert_int_equal(ada_clock_begin_source(&clock, &(struct ada_clock_source){ world_read, world_pause, &world }), 0);
	world_pass(&world, 5000000);
	ns = world.ns;
	assert_int_equal(ada_clock_settle(clock), 0);
	assert_true(world.ns < ns + 4000000);
	assert_true(fabs((double)ada_clock_ns(clock, (uint64_t)world.counter) - world.ns) < 1000);
	ada_clock_close(clock);
}

/* No known answer but the kernel's: between two readings of the true clock lies what the counter converts to. */
static void test_the_real_clock_agrees_with_the_kernel(void **state)
{
	struct ada_clock *clock;

	assert_int_equal(ada_clock_begin(&clock), 0);
	assert_int_equal(ada_clock_settle(clock), 0);
	ada_clock_calibrate(clock);
	for (int i = 0; i < 1000; i++) {
		uint64_t before = ada_clock_boottime_ns();
		uint64_t ns = ada_clock_ns(clock, ada_clock_counter());
		uint64_t after = ada_clock_boottime_ns();

		/* 100 us of grace: this is about units and signs; precision is held by the simulated hour. */
		assert_true(ns + 100000 > before && ns < after + 100000);
	}
	ada_clock_close(clock);
	ada_clock_close(NULL);
}

/* From its anchors and its state another process makes a clock that says the same of any counter. */
static void check_rebuilt(struct ada_clock *clock, uint64_t newest)
{
	const struct ada_clock_anchor *anchors;
	struct ada_clock_state state;
	struct ada_clock *again;
	size_t count = ada_clock_anchors(clock, &anchors);

	ada_clock_state(clock, &state);
	assert_int_equal(ada_clock_rebuild(&again, anchors, count, &state), 0);
	for (uint64_t back = 0; back < newest; back += newest / 1000 + 1)
		assert_int_equal(ada_clock_ns(again, newest - back), ada_clock_ns(clock, newest - back));
	ada_clock_close(again);
}

/* No line holds for longer than its product has room for: a counter behind that, which an agent may write, is the clock's to convert. */
static void test_a_line_ends_where_its_product_does(void **state)
{
	struct world world = typical;
	struct ada_clock *clock = world_clock(&world);
	struct ada_clock_line line;
	uint64_t last, ns;

	ada_clock_ns(clock, (uint64_t)world.counter);
	line = ada_clock_line(clock);
	last = line.counter + ADA_CLOCK_SPAN - 1;
	assert_int_equal(line.span, ADA_CLOCK_SPAN);
	assert_true(ada_clock_line_holds(&line, last));
	assert_false(ada_clock_line_holds(&line, last + 1));
	ns = ada_clock_ns(clock, last);
	assert_int_equal(ada_clock_line_ns(&line, last), ns);
	assert_int_equal(ns, line.ns + (uint64_t)((unsigned __int128)(ADA_CLOCK_SPAN - 1) * line.multiplier >> ADA_CLOCK_SHIFT));
	assert_in_range(ada_clock_ns(clock, last + 1) - ns, 0, 1);
	assert_true(ada_clock_ns(clock, last + ADA_CLOCK_SPAN) > ns + (ns - line.ns) - 2);
	ada_clock_close(clock);
}

/* Of two clocks that see the same world one rounds: what it says is what the other says, rounded down, by calls and by lines, so that rounding
 * moves no line. */
static void test_times_are_rounded_down(void **state)
{
	struct world worlds[] = { typical, typical };
	struct ada_clock *exact = world_clock(&worlds[0]), *rounded = world_clock(&worlds[1]);
	uint64_t odd = 0;

	assert_int_equal(ada_clock_resolution(exact), 1);
	ada_clock_round(rounded, 16);
	assert_int_equal(ada_clock_resolution(rounded), 16);
	for (int i = 0; i < 2000; i++) {
		struct ada_clock_line line;
		uint64_t ns;

		for (int j = 0; j < 2; j++)
			world_pass(&worlds[j], SECOND / 77);
		ns = ada_clock_ns(exact, (uint64_t)worlds[0].counter);
		odd += ns & 1;
		assert_int_equal(ada_clock_ns(rounded, (uint64_t)worlds[1].counter), ns & ~15ull);
		line = ada_clock_line(rounded);
		assert_true(ada_clock_line_holds(&line, (uint64_t)worlds[1].counter));
		assert_int_equal(ada_clock_line_ns(&line, (uint64_t)worlds[1].counter), ns & ~15ull);
		if (i % 8)
			continue;
		ada_clock_calibrate(exact);
		ada_clock_calibrate(rounded);
	}
	assert_true(odd > 500);
	check_rebuilt(rounded, (uint64_t)worlds[1].counter);
	for (uint64_t wrong = 0; wrong <= 2 * ADA_CLOCK_COARSEST; wrong = wrong ? 2 * wrong + 1 : 3) {
		ada_clock_round(rounded, wrong);
		assert_int_equal(ada_clock_resolution(rounded), 1);
	}
	ada_clock_round(rounded, 2 * ADA_CLOCK_COARSEST);
	assert_int_equal(ada_clock_resolution(rounded), 1);
	assert_int_equal(ada_clock_ns(rounded, (uint64_t)worlds[1].counter), ada_clock_ns(exact, (uint64_t)worlds[0].counter));
	ada_clock_close(exact);
	ada_clock_close(rounded);
}

static void test_what_is_no_clock_is_not_rebuilt(void **state)
{
	static const double wrong[] = { 0, -1, 1e9, NAN, INFINITY };
	struct ada_clock_anchor anchors[] = { { 10, 10, 1 }, { 20, 20, 1 } };
	struct ada_clock_state never_fell = { 0 }, beyond = { .fell = 2 }, order = { .fell = 0, .before = 1 };
	struct ada_clock *clock;

	assert_int_equal(ada_clock_rebuild(&clock, anchors, 0, &never_fell), -EINVAL);
	assert_int_equal(ada_clock_rebuild(&clock, anchors, 2, &beyond), -EINVAL);
	assert_int_equal(ada_clock_rebuild(&clock, anchors, 2, &order), -EINVAL);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		anchors[1].ns_per_tick = wrong[i];
		assert_int_equal(ada_clock_rebuild(&clock, anchors, 2, &never_fell), -EINVAL);
		assert_null(clock);
	}
}

/* The machine slept, twice, and its counter was reset: time goes on, and what was read before and comes late keeps its own. */
static void test_a_counter_that_falls(void **state)
{
	struct world world = typical;
	struct ada_clock *clock = world_clock(&world);

	for (int fall = 0; fall < 2; fall++) {
		struct walk seen = { 0 };
		uint64_t late, late_ns;

		for (int i = 0; i < 30; i++) {
			walk(&seen, &world, clock, SECOND / 10, 10);
			ada_clock_calibrate(clock);
		}
		late = (uint64_t)world.counter;
		late_ns = ada_clock_ns(clock, late);
		world.ns += 1000 * SECOND;
		world.counter = fall ? 1e9 : 3e10;
		ada_clock_calibrate(clock);
		seen.worst_ns = 0;
		for (int i = 0; i < 30; i++) {
			walk(&seen, &world, clock, SECOND / 10, 10);
			assert_int_equal(ada_clock_ns(clock, late), late_ns);
			ada_clock_calibrate(clock);
		}
		assert_true(seen.worst_ns < 1000);
		check_rebuilt(clock, seen.newest_counter);
	}
	ada_clock_close(clock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_hour_of_drift_stays_within_a_microsecond),
		cmocka_unit_test(test_whoever_comes_late_to_the_first_calibration_waits_no_more),
		cmocka_unit_test(test_a_steady_counter_needs_few_anchors),
		cmocka_unit_test(test_a_sudden_change_of_rate_is_made_good_without_falling),
		cmocka_unit_test(test_rare_calibrations_converge),
		cmocka_unit_test(test_what_was_said_is_never_contradicted),
		cmocka_unit_test(test_lines_join_at_each_anchor),
		cmocka_unit_test(test_a_line_converts_as_the_clock_does),
		cmocka_unit_test(test_counters_before_the_first_anchor),
		cmocka_unit_test(test_a_torn_record_does_not_drag_time_along),
		cmocka_unit_test(test_a_sleep_with_the_counter_stopped_steps_forward),
		cmocka_unit_test(test_the_real_clock_agrees_with_the_kernel),
		cmocka_unit_test(test_a_counter_that_falls),
		cmocka_unit_test(test_a_line_ends_where_its_product_does),
		cmocka_unit_test(test_times_are_rounded_down),
		cmocka_unit_test(test_what_is_no_clock_is_not_rebuilt),
	};

	return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
