/* Detail chunks to detail.atf: what is written is known from the marks. */
#include "detail_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct world_options small = { .detail_bytes = 4 << 20, .threads = 4 };

/* Event 2000 marks: 100 events before it and 50 after. */
static void first_and_last_record_are_known(void **state)
{
	struct world world;

	world_make(&world, &small);
	world_run(&world, 0, 2001);
	fake_mark(&world.threads[0], 0, 100, 0, 50);
	world_run(&world, 0, 3000);
	world_finish(&world);
	world_check(&world);
	assert_int_equal(world_windows(&world), 1);
	assert_int_equal(world.first_seq[0], 1900);
	assert_int_equal(world.last_seq[0], 2050);
	assert_int_equal(world.persisted, 151);
	assert_int_equal(world_window(&world, 0)->shorts, 0);
	world_end(&world);
}

/* Threads take turns; the window is one of time. */
static void a_window_holds_every_thread(void **state)
{
	struct world world;

	world_make(&world, &small);
	for (int round = 0; round < 40; round++)
		for (uint32_t i = 0; i < 4; i++) {
			world_run(&world, i, 50);
			if (round == 20 && i == 1)
				fake_mark(&world.threads[1], 300 * TICK + TICK / 2, 0, 300 * TICK + TICK / 2, 0);
		}
	world_finish(&world);
	world_check(&world);
	assert_int_equal(world_windows(&world), 1);
	assert_int_equal(world.persisted, 601);
	/* The mark is event 4099 of all: 3799 to 4399. Of thread 0, that is from its event 950 (the 3800th) on. */
	assert_int_equal(world.first_seq[0], 950);
	assert_int_equal(world.last_seq[3], 1099);
	world_end(&world);
}

static void nothing_marked_leaves_no_file(void **state)
{
	struct world world;
	struct ada_detail_metrics metrics;

	world_make(&world, &small);
	for (uint32_t i = 0; i < 4; i++)
		world_run(&world, i, 20000);
	world_finish(&world);
	world_check(&world);
	assert_int_equal(world.persisted, 0);
	ada_details_metrics(world.details, &metrics);
	assert_int_equal(metrics.windows_discarded, world.fake.recycled);
	assert_true(world.fake.recycled > 0);
	assert_int_equal(metrics.events_processed, 80000);
	world_end(&world);
}

/* 32 chunks of 1022 events, of which a quarter stays free; 60,000 events went before. */
static void a_recycled_pre_roll_is_cut(void **state)
{
	struct world world;
	uint64_t horizon;
	const struct ada_window *window;

	world_make(&world, &small);
	world_run(&world, 0, 60000);
	fake_mark(&world.threads[0], 0, 50000, 0, 10);
	horizon = ada_clock_ns(world.clock, world.segment.shm->detail.horizon);
	world_run(&world, 0, 100);
	world_finish(&world);
	world_check(&world);
	window = world_window(&world, 0);
	assert_int_equal(world_windows(&world), 1);
	assert_int_equal(window->shorts, ADA_SHORT_OVERRUN);
	assert_true(window->start_ns > horizon);
	assert_int_equal(world.first_seq[0] % ADA_CHUNK_EVENTS, 0);
	assert_in_range(world.first_seq[0], 60000 - 25 * 1022, 60000 - 22 * 1022);
	assert_int_equal(world.last_seq[0], 60009);
	assert_true(window->sufficient_bytes > 4 << 20);
	world_end(&world);
}

/* One chunk of thread 1 had no detail chunk: the window is two. */
static void starvation_splits_a_window(void **state)
{
	struct world world;

	world_make(&world, &small);
	world_run(&world, 0, 500);
	world_run(&world, 1, 1022);
	world.threads[1].starve = true;
	world_run(&world, 1, 1022);
	world.threads[1].starve = false;
	world_run(&world, 1, 1022);
	world_run(&world, 0, 500);
	fake_mark(&world.threads[0], 5000 * TICK, 0, 0, 0);
	world_finish(&world);
	world_check(&world);
	assert_int_equal(world_windows(&world), 2);
	assert_int_equal(world.persisted, 1000 + 2 * 1022);
	assert_true(world_window(&world, 0)->shorts & ADA_SHORT_STARVED);
	assert_true(world_window(&world, 1)->shorts & ADA_SHORT_STARVED);
	world_end(&world);
}

/* Nobody takes the chunk further that an agent had claimed: it is as it was sealed. */
static void a_claimed_chunk_of_a_dead_process_is_whole(void **state)
{
	struct world world;
	uint32_t first = 0;

	world_make(&world, &small);
	world_run(&world, 0, 3000);
	fake_mark(&world.threads[0], 0, 2900, 0, 1000);
	while (fake_detail(&world.fake, first)->first_seq != 0 || fake_detail(&world.fake, first)->status != ADA_DETAIL_SEALED)
		first++;
	__atomic_store_n(&fake_detail(&world.fake, first)->status, ADA_DETAIL_CLAIMED, __ATOMIC_RELEASE);
	world_turn(&world);
	world_finish(&world);
	world_check(&world);
	assert_int_equal(world.first_seq[0], 99);
	assert_int_equal(world.last_seq[0], 2999);
	assert_int_equal(world_window(&world, 0)->shorts, ADA_SHORT_EXIT);
	world_end(&world);
}

static void segments_roll_in_a_window(void **state)
{
	struct world world;
	struct world_options options = small;

	options.segment_events = 700;
	world_make(&world, &options);
	world.threads[0].skip_detail = 5;
	world_run(&world, 0, 4000);
	fake_mark(&world.threads[0], 0, 3000, 0, 2000);
	world_run(&world, 0, 4000);
	world_finish(&world);
	world_check(&world);
	assert_int_equal(world.first_seq[0], 999);
	assert_int_equal(world.last_seq[0], 5999);
	world_end(&world);
}

/* The index lost some: what the recorder puts in to say so shifts every later position. */
static void lost_events_shift_no_record(void **state)
{
	struct world world;

	world_make(&world, &small);
	for (int i = 0; i < 10; i++) {
		world_run(&world, 0, 333);
		fake_lose(&world.threads[0], 7);
	}
	fake_mark(&world.threads[0], 2000 * TICK + TICK / 2, 0, 500 * TICK + TICK / 2, 0);
	world_run(&world, 0, 2000);
	world_finish(&world);
	world_check(&world);
	assert_int_equal(world_windows(&world), 1);
	assert_true(world.persisted > 2400);
	/* Five times before the mark, once behind it. */
	assert_int_equal(world_window(&world, 0)->shorts, ADA_SHORT_LOST);
	assert_int_equal(world_window(&world, 0)->lost, 6 * 7);
	world_end(&world);
}

/* A window of 100,000 events in a pool of 21,000: what pins the pool is written ahead. */
static void a_long_window_streams(void **state)
{
	struct world world;

	world_make(&world, &small);
	world_run(&world, 0, 1000);
	fake_mark(&world.threads[0], 0, 500, 0, 100000);
	for (int i = 0; i < 60; i++) {
		world_run(&world, 0, 1700);
		world_run(&world, 1, 1700);
	}
	world_finish(&world);
	world_check(&world);
	assert_int_equal(world_windows(&world), 1);
	assert_int_equal(world_window(&world, 0)->shorts, 0);
	assert_int_equal(world.first_seq[0], 499);
	assert_int_equal(world.last_seq[0], 100999);
	assert_int_equal(world.segment.shm->detail.starved, 0);
	world_end(&world);
}

static void streaming_keeps_all(void **state)
{
	struct world world;
	struct world_options options = small;

	options.detail_mode = ADA_DETAIL_STREAMING;
	world_make(&world, &options);
	for (int i = 0; i < 50; i++)
		for (uint32_t k = 0; k < 4; k++)
			world_run(&world, k, 400);
	world_finish(&world);
	world_check(&world);
	assert_int_equal(world.persisted, 80000);
	assert_int_equal(world_windows(&world), 1);
	world_end(&world);
}

/* 21 chunks, then no more. */
static void oneshot_keeps_the_first(void **state)
{
	struct world world;
	struct world_options options = small;

	options.detail_mode = ADA_DETAIL_ONESHOT;
	world_make(&world, &options);
	world_run(&world, 0, 50000);
	world_finish(&world);
	world_check(&world);
	assert_int_equal(world.first_seq[0], 0);
	assert_int_equal(world.last_seq[0], world.segment.detail_chunks * 1022 - 1);
	world_end(&world);
}

static void a_closed_window_frees_the_pool(void **state)
{
	struct world world;
	uint64_t recycled;

	world_make(&world, &small);
	world_run(&world, 0, 5000);
	fake_mark(&world.threads[0], 1000 * TICK + TICK / 2, 0, 1000 * TICK + TICK / 2, 0);
	world_run(&world, 0, 2000);
	world_pass(&world, 100000000);
	assert_true(world_window(&world, 0)->settled);
	assert_int_equal(world.segment.shm->detail.pin.start >> ADA_PIN_EPOCH_BITS, ADA_PIN_NONE >> ADA_PIN_EPOCH_BITS);
	recycled = world.fake.recycled;
	world_run(&world, 0, 40000);
	assert_true(world.fake.recycled >= recycled + 15);
	world_finish(&world);
	world_check(&world);
	assert_int_equal(world.persisted, 2001);
	world_end(&world);
}

/* What was asked for lies in one window, where that says that it is whole; else its beginning or end is where it is cut. */
static void check_asked(const struct world *world, uint64_t ns, uint64_t start, uint64_t end)
{
	const struct ada_window *window = ada_windows_of(ada_details_windows(world->details), ns);

	assert_non_null(window);
	if (window->start_ns > start)
		assert_true(window->shorts & (ADA_SHORT_OVERRUN | ADA_SHORT_STARVED | ADA_SHORT_FROZEN | ADA_SHORT_STARTUP));
	if (window->end_ns < end)
		assert_true(window->shorts & (ADA_SHORT_EXIT | ADA_SHORT_STARVED) ||
			    ada_windows_of(ada_details_windows(world->details), window->end_ns + 1));
}

#define MARKS 1000

/* Random threads, rolls, segments; every record of every window is compared. `starve`: some chunks find no detail chunk. */
static void random_windows(bool starve)
{
	static uint64_t asked[MARKS][3];
	struct world_options options = {
		.detail_bytes = (starve ? 8 : 16) << 20, .threads = THREADS_MAX, .segment_events = 3000, .stack_bytes = 24
	};
	struct world world;
	const char *seed = getenv("ADA_TEST_SEED");
	unsigned random = seed ? (unsigned)atoi(seed) : (unsigned)time(NULL);

	print_message("# ADA_TEST_SEED=%u\n", random);
	world_make(&world, &options);
	for (uint32_t i = 0; i < THREADS_MAX; i++)
		world.threads[i].skip_detail = i % 3 ? 0 : 11 + i;
	for (int i = 0; i < MARKS; i++) {
		struct fake_thread *thread = &world.threads[rand_r(&random) % THREADS_MAX];
		uint64_t pre, post, now;
		bool events;

		for (int k = rand_r(&random) % 6; k--;)
			world_run(&world, (uint32_t)rand_r(&random) % THREADS_MAX, (uint64_t)rand_r(&random) % 400);
		thread->starve = starve && rand_r(&random) % 100 == 0;
		world_run(&world, thread->id, 1);
		pre = (uint64_t)rand_r(&random) % 2000 * TICK;
		post = (uint64_t)rand_r(&random) % 300 * TICK;
		now = thread->last_counter;
		events = rand_r(&random) % 4 == 0;
		fake_mark(thread, events ? 0 : pre, events ? pre / TICK : 0, events ? 0 : post, events ? post / TICK / 8 : 0);
		asked[i][0] = ada_clock_ns(world.clock, now);
		asked[i][1] = events ? asked[i][0] : ada_clock_ns(world.clock, now - pre) + 10;
		asked[i][2] = events ? asked[i][0] : ada_clock_ns(world.clock, now + post) - 10;
	}
	world_finish(&world);
	world_check(&world);
	for (int i = 0; i < MARKS && !starve; i++)
		check_asked(&world, asked[i][0], asked[i][1], asked[i][2]);
	print_message("# %zu windows, %lu records\n", world_windows(&world), (unsigned long)world.persisted);
	assert_true(world_windows(&world) > 10); /* 32 and 50 on average: half of them would be five deviations off */
	world_end(&world);
}

static void a_thousand_random_windows(void **state)
{
	random_windows(false);
}

static void a_thousand_random_windows_with_holes(void **state)
{
	random_windows(true);
}

/* In events of all threads together: 100 before, 60 after. */
static void a_mark_of_the_recorders_own(void **state)
{
	struct world world;
	struct ada_rule rules[ADA_RULES_MAX] = { [3] = { .kind = ADA_RULE_MANUAL, .pre_events = 100, .post_events = 60 } };
	struct ada_detail_metrics metrics;

	world_make(&world, &small);
	for (int i = 0; i < 100; i++)
		world_run(&world, (uint32_t)i % 4, 25);
	assert_int_equal(ada_details_mark(world.details, rules, 1 << 3, 5, world.fake.counter - TICK / 2, 0), 0);
	for (int i = 0; i < 100; i++)
		world_run(&world, (uint32_t)i % 4, 25);
	ada_details_metrics(world.details, &metrics);
	assert_int_equal(metrics.last_mark_rules, 1 << 3);
	assert_int_equal(metrics.last_mark_version, 5);
	world_finish(&world);
	world_check(&world);
	assert_int_equal(world_windows(&world), 1);
	assert_int_equal(world.persisted, 160);
	assert_int_equal(world.first_seq[0], 600);
	assert_int_equal(world.last_seq[1], 649);
	assert_int_equal(world_window(&world, 0)->shorts, 0);
	world_end(&world);
}

/* C code that has read the counter commits later: the window waits for it, and not for ever. */
static void a_window_waits_for_who_writes(void **state)
{
	struct world world;

	world_make(&world, &small);
	world_run(&world, 0, 1000);
	fake_mark(&world.threads[0], 100 * TICK, 0, 100 * TICK, 0);
	world_run(&world, 0, 1000);
	world_run(&world, 1, 1);
	fake_entry(&world.fake, 1)->writing = 1;
	for (int i = 0; i < 5; i++)
		world_pass(&world, 1000000);
	assert_false(world_window(&world, 0)->settled);
	fake_entry(&world.fake, 1)->writing = 0;
	world_pass(&world, 1000000);
	assert_true(world_window(&world, 0)->settled);
	fake_mark(&world.threads[0], 0, 0, 0, 0);
	fake_entry(&world.fake, 1)->writing = 1;
	for (int i = 0; i < 100; i++)
		world_pass(&world, 100000);
	assert_true(world_window(&world, world_windows(&world) - 1)->settled);
	world_finish(&world);
	world_check(&world);
	world_end(&world);
}

/* Two windows of which a hole leaves nothing become one behind it, closed anew: windows are settled in order all the same. */
static void what_a_hole_empties_holds_nothing_up(void **state)
{
	struct world world;

	world_make(&world, &small);
	world.threads[1].starve = true;
	for (int i = 0; i < 2; i++) {
		fake_events(&world.threads[1], 10);
		fake_events(&world.threads[0], 1);
		fake_mark(&world.threads[0], 0, 0, 0, 0);
	}
	fake_events(&world.threads[1], 10);
	fake_events(&world.threads[0], 50);
	fake_mark(&world.threads[0], 10 * TICK + TICK / 2, 0, 10 * TICK + TICK / 2, 0);
	fake_events(&world.threads[0], 50);
	fake_seal(&world.threads[1]);
	for (int i = 0; i < 5; i++)
		world_pass(&world, 2000000);
	assert_int_equal(world_windows(&world), 2);
	assert_true(world_window(&world, 0)->settled && world_window(&world, 1)->settled);
	world_finish(&world);
	world_check(&world);
	assert_int_equal(world.persisted, 21);
	world_end(&world);
}

/* Thread 1 was preempted between sealing its chunk and putting it into the ring: a window waits for what is in there. */
static void a_window_waits_for_chunks_on_their_way(void **state)
{
	struct world world;

	world_make(&world, &small);
	fake_events(&world.threads[0], 100);
	fake_events(&world.threads[1], 300);
	fake_events(&world.threads[0], 100);
	fake_mark(&world.threads[0], 250 * TICK + TICK / 2, 0, 0, 0);
	fake_seal_begin(&world.threads[1]);
	for (int i = 0; i < 10; i++)
		world_pass(&world, 1000000);
	assert_int_equal(world_windows(&world), 1);
	assert_false(world_window(&world, 0)->settled);
	fake_seal_end(&world.threads[1]);
	world_pass(&world, 1000000);
	assert_true(world_window(&world, 0)->settled);
	world_finish(&world);
	world_check(&world);
	assert_int_equal(world.persisted, 251);
	world_end(&world);
}

/* Events of thread 1 from before, in and behind a window, committed when that was settled: they are written all the same, at
 * once or in the end. */
static void late_records_get_into_their_window(void **state)
{
	for (int at_once = 0; at_once < 2; at_once++) {
		struct world world;
		uint64_t then;

		world_make(&world, &small);
		world_run(&world, 0, 400);
		then = world.fake.counter;
		world_run(&world, 0, 400);
		fake_mark(&world.threads[0], 200 * TICK + TICK / 2, 0, 0, 0);
		world_run(&world, 0, 400);
		for (int i = 0; i < 3; i++)
			world_pass(&world, 1000000);
		assert_int_equal(world_windows(&world), 1);
		assert_true(world_window(&world, 0)->settled);
		world_late(&world, 1, then, 700);
		if (at_once) {
			fake_seal(&world.threads[1]);
			world_turn(&world);
			assert_int_equal(ada_details_thread_events(world.details, 1), 201);
		}
		world_finish(&world);
		world_check(&world);
		assert_int_equal(world.persisted, 201 + 201);
		world_end(&world);
	}
}

/* A thread may lose its CPU between its event and its mark. Meanwhile the event is drained, and what another thread committed late
 * is written. */
static void a_mark_may_come_behind_late_records(void **state)
{
	struct world world;
	uint64_t then;

	world_make(&world, &small);
	world_run(&world, 0, 400);
	fake_seal(&world.threads[0]);
	then = world.fake.counter;
	world_run(&world, 1, 400);
	fake_mark(&world.threads[1], 200 * TICK + TICK / 2, 0, 0, 0);
	world_run(&world, 1, 400);
	for (int i = 0; i < 3; i++)
		world_pass(&world, 1000000);
	assert_true(world_window(&world, 0)->settled);
	world_late(&world, 2, then, 300);
	fake_seal(&world.threads[2]);
	fake_events(&world.threads[0], 50);
	fake_seal(&world.threads[0]);
	world_turn(&world);
	assert_true(ada_details_thread_events(world.details, 2) > 0);
	fake_mark(&world.threads[0], 0, 0, 0, 0);
	for (int i = 0; i < 3; i++)
		world_pass(&world, 1000000);
	assert_int_equal(world_windows(&world), 2);
	assert_int_equal(world_window(&world, 1)->event_count, 1);
	world_finish(&world);
	world_check(&world);
	world_end(&world);
}

/* Of a thread that has ended and that no window can want more of. */
static void files_of_ended_threads_are_closed(void **state)
{
	struct world world;
	struct atf_message message;
	struct atf_detail_file *file;
	char path[128];

	world_make(&world, &small);
	world_run(&world, 0, 1000);
	fake_mark(&world.threads[0], 100 * TICK + TICK / 2, 0, 0, 0);
	fake_thread_end(&world.threads[0]);
	world_pass(&world, 10000000);
	assert_true(world_window(&world, 0)->settled);
	ada_drain_quiet(&world.drain);
	world_run(&world, 1, 30 * 1022); /* its history is gone */
	world_pass(&world, 250000000);
	snprintf(path, sizeof path, "%s/thread_0/detail.atf", world.directory);
	assert_int_equal(atf_detail_open(&file, path, &message), 0);
	assert_int_equal(atf_detail_completeness(file), ATF_COMPLETE);
	atf_detail_close(file);
	world_finish(&world);
	world_check(&world);
	assert_int_equal(world.persisted, 101);
	world_end(&world);
}

/* Killed with its process between the two steps of sealing: nobody will put it into the ring. */
static void a_chunk_sealed_by_a_killed_thread_is_taken(void **state)
{
	struct world world;
	const struct ada_lane *lane;

	world_make(&world, &small);
	fake_events(&world.threads[0], 100);
	fake_entry(&world.fake, 0)->sealed_events = 100;
	fake_seal_begin(&world.threads[0]);
	__atomic_store_n(&fake_entry(&world.fake, 0)->status, ADA_THREAD_ENDED, __ATOMIC_RELEASE);
	ada_drain_quiet(&world.drain);
	lane = &world.drain.lanes.items[0];
	assert_true(lane->closed && lane->events == 100 && !lane->lost);
	world_finish(&world);
	assert_int_equal(world.drain.bad_chunks, 0);
	assert_int_equal(world.drain.lanes.items[0].events, 100);
	world_end(&world);
}

/* A window of long ago, of which the index of 128 chunks holds nothing any more, one that it holds in part, and one that is
 * whole. Chunks that windows want go to the spool while the pool of detail goes round. */
static void a_circular_index_is_written_at_the_end(void **state)
{
	struct world world;
	struct world_options options = small;
	/* 195,000 events, of which the index holds 128 chunks: the last one is not full. First in the file: a LOST record */
	uint64_t first = 195000 / 1022 * 1022 - 127 * 1022;

	options.index_mode = ADA_INDEX_CIRCULAR;
	world_make(&world, &options);
	world_run(&world, 0, 5000);
	fake_mark(&world.threads[0], 0, 1000, 0, 1000);
	world_run(&world, 0, 60000);
	fake_mark(&world.threads[0], 0, 1000, 0, 30000);
	world_run(&world, 0, 80000);
	fake_mark(&world.threads[0], 0, 500, 0, 500);
	world_run(&world, 0, 50000);
	world_finish(&world);
	world_check(&world);
	assert_in_range(first, 64000, 94999);
	assert_int_equal(world.persisted, 94999 - first + 1 + 1001);
	assert_int_equal(world.last_seq[0], 145499 - first + 1);
	assert_int_equal(world.first_seq[0], 1);
	assert_int_equal(world_windows(&world), 2); /* nothing is left of the first but its mark */
	assert_int_equal(world_window(&world, 0)->shorts, ADA_SHORT_OVERRUN | ADA_SHORT_OVERWRITTEN);
	assert_int_equal(world_window(&world, 0)->marked_count, 2);
	world_end(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(first_and_last_record_are_known),
					    cmocka_unit_test(a_window_holds_every_thread),
					    cmocka_unit_test(nothing_marked_leaves_no_file),
					    cmocka_unit_test(a_recycled_pre_roll_is_cut),
					    cmocka_unit_test(starvation_splits_a_window),
					    cmocka_unit_test(a_claimed_chunk_of_a_dead_process_is_whole),
					    cmocka_unit_test(segments_roll_in_a_window),
					    cmocka_unit_test(lost_events_shift_no_record),
					    cmocka_unit_test(a_long_window_streams),
					    cmocka_unit_test(streaming_keeps_all),
					    cmocka_unit_test(oneshot_keeps_the_first),
					    cmocka_unit_test(a_closed_window_frees_the_pool),
					    cmocka_unit_test(a_mark_of_the_recorders_own),
					    cmocka_unit_test(a_window_waits_for_who_writes),
					    cmocka_unit_test(what_a_hole_empties_holds_nothing_up),
					    cmocka_unit_test(a_window_waits_for_chunks_on_their_way),
					    cmocka_unit_test(late_records_get_into_their_window),
					    cmocka_unit_test(a_mark_may_come_behind_late_records),
					    cmocka_unit_test(files_of_ended_threads_are_closed),
					    cmocka_unit_test(a_chunk_sealed_by_a_killed_thread_is_taken),
					    cmocka_unit_test(a_circular_index_is_written_at_the_end),
					    cmocka_unit_test(a_thousand_random_windows),
					    cmocka_unit_test(a_thousand_random_windows_with_holes) };

	return world_run_tests("detail", tests);
}
