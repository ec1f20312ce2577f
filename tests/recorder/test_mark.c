/* From the ring of marks to windows: exact bounds, and a ring that can't be trusted. Event k of thread t is at counter
 * BASE + 100 k + t, which is twice as many ns. */
#include "../test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "recorder/detail/mark.h"

#define BASE 1000000u
#define THREADS 3

static struct ada_segment segment;
static struct ada_windows *windows;
static struct ada_marks *marks;
static uint64_t committed[THREADS], drained[THREADS], oldest[THREADS];
static bool ended[THREADS];

static uint64_t counter_of(uint32_t thread, uint64_t seq)
{
	return BASE + 100 * seq + thread;
}

static uint64_t fake_ns(void *context, uint64_t counter)
{
	return counter * 2;
}

static enum ada_mark_answer fake_time(void *context, uint32_t thread, uint64_t seq, uint64_t *ns)
{
	assert_true(thread < THREADS);
	if (seq >= committed[thread])
		return ADA_MARK_LATER;
	if (seq < oldest[thread])
		return ADA_MARK_GONE;
	*ns = 2 * counter_of(thread, seq);
	return ADA_MARK_KNOWN;
}

static enum ada_mark_answer fake_place(void *context, uint32_t thread, uint64_t seq, uint32_t *file, uint64_t *index_seq)
{
	assert_true(thread < THREADS);
	if (seq >= drained[thread])
		return ADA_MARK_LATER;
	*file = (uint32_t)(seq / 1000);
	*index_seq = seq % 1000;
	return ADA_MARK_KNOWN;
}

static uint64_t fake_committed(void *context, uint32_t thread)
{
	assert_true(thread < THREADS);
	return committed[thread];
}

static bool fake_ended(void *context, uint32_t thread)
{
	return ended[thread];
}

static int set_up(void **state)
{
	static const struct ada_mark_source source = {
		.ns = fake_ns, .time = fake_time, .place = fake_place, .committed = fake_committed, .ended = fake_ended, .ns_per_tick = 2
	};

	segment.shm = calloc(1, sizeof *segment.shm);
	segment.marks = calloc(ADA_MARKS, sizeof *segment.marks);
	segment.shm->thread_count = segment.shm->threads_seen = THREADS;
	for (int i = 0; i < THREADS; i++) {
		committed[i] = 5000;
		oldest[i] = drained[i] = 0;
		ended[i] = false;
	}
	windows = ada_windows_open(0);
	return ada_marks_open(&marks, &segment, windows, &source);
}

static int tear_down(void **state)
{
	ada_marks_close(marks);
	ada_windows_close(windows);
	free(segment.shm);
	free(segment.marks);
	return 0;
}

static struct ada_mark of_event(uint32_t thread, uint64_t seq)
{
	return (struct ada_mark){
		.counter = counter_of(thread, seq), .rules = 2, .version = 3, .thread = thread, .seq = seq, .function_id = 77, .value = 5
	};
}

static void put_at(uint64_t place, const struct ada_mark *mark)
{
	segment.marks[place % ADA_MARKS] = *mark;
	__atomic_store_n(&segment.marks[place % ADA_MARKS].ready, place + 1, __ATOMIC_RELEASE);
}

static void put(const struct ada_mark *mark)
{
	put_at(segment.shm->marks.head++, mark);
}

static void expect(size_t i, uint64_t start, uint64_t end, uint64_t count, uint32_t shorts)
{
	struct ada_window *window = ada_windows_at(windows, i);

	assert_int_equal(window->start_ns, start);
	assert_int_equal(window->end_ns, end);
	assert_int_equal(window->marked_count, count);
	assert_int_equal(window->shorts, shorts);
}

static void seconds_are_exact(void **state)
{
	struct ada_mark mark = of_event(1, 2000);
	uint64_t ns;
	struct ada_window *window;
	struct ada_mark_last last;

	mark.pre_ticks = 501;
	mark.post_ticks = 77;
	put(&mark);
	assert_true(ada_marks_read(marks));
	assert_false(ada_marks_read(marks));
	ns = 2 * counter_of(1, 2000);
	expect(0, ns - 1002, ns + 154, 1, 0);
	window = ada_windows_at(windows, 0);
	assert_int_equal(window->pre_ns, 1002);
	assert_int_equal(window->post_ns, 154);
	assert_int_equal(window->rules, 2);
	assert_int_equal(window->version, 3);
	assert_int_equal(window->marks.items[0].function_id, 77);
	assert_int_equal(window->marks.items[0].value, 5);
	assert_int_equal(segment.shm->marks.tail, 1);
	last = ada_marks_last(marks);
	assert_int_equal(last.ns, ns);
	assert_int_equal(last.rules, 2);
	assert_int_equal(last.version, 3);
}

static void events_are_exact(void **state)
{
	struct ada_mark mark = of_event(2, 2000);

	mark.pre_events = 30;
	mark.post_events = 7;
	put(&mark);
	ada_marks_read(marks);
	expect(0, 2 * counter_of(2, 1970), 2 * counter_of(2, 2007), 1, 0);
	assert_int_equal(ada_windows_at(windows, 0)->pre_events, 30);
	assert_int_equal(ada_windows_at(windows, 0)->post_events, 7);
}

static void of_both_the_longer_one(void **state)
{
	struct ada_mark mark = of_event(0, 1000);

	mark.pre_events = 3, mark.pre_ticks = 500;   /* 300 ticks back; 500 */
	mark.post_events = 9, mark.post_ticks = 500; /* 900 on; 500 */
	put(&mark);
	ada_marks_read(marks);
	expect(0, 2 * (counter_of(0, 1000) - 500), 2 * counter_of(0, 1009), 1, 0);
}

static void a_post_roll_ends_when_its_event_comes(void **state)
{
	struct ada_mark mark, apart;

	committed[0] = 1001;
	mark = of_event(0, 1000);
	mark.post_events = 10;
	put(&mark);
	ada_marks_read(marks);
	expect(0, 2 * counter_of(0, 1000), ADA_WINDOW_OPEN, 1, 0);
	committed[0] = 1006;
	mark = of_event(0, 1005); /* another one meanwhile: ten from there */
	mark.post_events = 10;
	put(&mark);
	ada_marks_read(marks);
	committed[0] = 1011;
	ada_marks_read(marks);
	expect(0, 2 * counter_of(0, 1000), ADA_WINDOW_OPEN, 2, 0);
	committed[0] = 1016;
	apart = of_event(1, 1500); /* read in the same turn, but behind the end of the first */
	put(&apart);
	assert_true(ada_marks_read(marks));
	assert_int_equal(ada_windows_count(windows), 2);
	expect(0, 2 * counter_of(0, 1000), 2 * counter_of(0, 1015), 2, 0);
	expect(1, 2 * counter_of(1, 1500), 2 * counter_of(1, 1500), 1, 0);
}

static void fewer_events_than_the_pre_roll_asks_for(void **state)
{
	struct ada_mark mark = of_event(1, 20);

	mark.pre_events = 1000;
	put(&mark);
	ada_marks_read(marks);
	expect(0, 2 * counter_of(1, 0), 2 * counter_of(1, 20), 1, ADA_SHORT_STARTUP);
}

static void a_pre_roll_that_is_overwritten(void **state)
{
	struct ada_mark mark;

	oldest[1] = 950;
	mark = of_event(1, 1000);
	mark.pre_events = 100;
	put(&mark);
	ada_marks_read(marks);
	expect(0, 2 * counter_of(1, 950), 2 * counter_of(1, 1000), 1, ADA_SHORT_OVERRUN);
}

static void the_thread_ends_in_the_post_roll(void **state)
{
	struct ada_mark mark;

	committed[1] = 1005;
	mark = of_event(1, 1000);
	mark.post_events = 100;
	put(&mark);
	ada_marks_read(marks);
	assert_int_equal(ada_windows_at(windows, 0)->end_ns, ADA_WINDOW_OPEN);
	ended[1] = true;
	assert_true(ada_marks_read(marks));
	expect(0, 2 * counter_of(1, 1000), 2 * counter_of(1, 1004), 1, ADA_SHORT_THREAD);
}

static void the_process_ends_in_the_post_roll(void **state)
{
	struct ada_mark mark;

	committed[1] = 1005;
	mark = of_event(1, 1000);
	mark.post_events = 100;
	put(&mark);
	mark = of_event(0, 100);
	mark.post_events = 50;
	put(&mark);
	ended[1] = true;
	ada_marks_finish(marks, 2 * counter_of(1, 1004));
	ada_windows_end(windows, 2 * counter_of(2, 1004), ADA_SHORT_EXIT);
	assert_int_equal(ada_windows_count(windows), 2);
	expect(0, 2 * counter_of(0, 100), 2 * counter_of(0, 150), 1, 0);
	assert_int_equal(ada_windows_at(windows, 1)->start_ns, 2 * counter_of(1, 1000));
	assert_true(ada_windows_at(windows, 1)->closed);
}

static void places_follow_once_the_index_is_drained(void **state)
{
	struct ada_mark mark = of_event(1, 2345);
	const struct ada_window *window, *second;

	put(&mark);
	mark = of_event(1, 2346);
	put(&mark);
	drained[1] = 2346;
	ada_marks_read(marks);
	window = ada_windows_at(windows, 0);
	second = ada_windows_at(windows, 1);
	assert_int_equal(window->marks.items[0].segment, 2);
	assert_int_equal(window->marks.items[0].index_seq, 345);
	assert_int_equal(second->marks.items[0].index_seq, UINT64_MAX);
	drained[1] = 2347;
	ada_marks_read(marks);
	assert_int_equal(second->marks.items[0].index_seq, 346);
}

/* A window's records may be written before the drain has come to its marks. */
static void places_follow_of_a_window_that_is_settled(void **state)
{
	struct ada_mark mark = of_event(1, 2345);
	struct ada_window *window;

	put(&mark);
	drained[1] = 2345;
	ada_marks_read(marks);
	window = ada_windows_at(windows, 0);
	window->settled = true;
	ada_marks_read(marks);
	assert_int_equal(window->marks.items[0].index_seq, UINT64_MAX);
	drained[1] = 2346;
	ada_marks_read(marks);
	assert_int_equal(window->marks.items[0].index_seq, 345);
}

static void a_place_that_is_not_ready_holds_up_no_other(void **state)
{
	struct ada_mark mark = of_event(0, 100);

	segment.shm->marks.head++; /* taken, and never filled */
	put(&mark);
	ada_marks_read(marks);
	ada_marks_read(marks);
	assert_int_equal(ada_windows_count(windows), 1);
	expect(0, 2 * counter_of(0, 100), 2 * counter_of(0, 100), 1, 0);
	assert_int_equal(segment.shm->marks.tail, 0);
	ada_marks_finish(marks, 1 << 30); /* dead: nobody fills it any more */
	assert_int_equal(segment.shm->marks.tail, 2);
	assert_int_equal(ada_windows_at(windows, 0)->marked_count, 1);
}

static void a_place_that_is_ready_late(void **state)
{
	struct ada_mark mark = of_event(0, 100);

	segment.shm->marks.head++;
	put(&mark);
	ada_marks_read(marks);
	mark = of_event(0, 50);
	put_at(0, &mark);
	ada_marks_read(marks);
	assert_int_equal(ada_windows_count(windows), 2);
	assert_int_equal(segment.shm->marks.tail, 2);
}

static void the_ring_goes_round(void **state)
{
	uint64_t marked = 0;

	for (uint64_t i = 0; i < 10 * ADA_MARKS; i++) {
		struct ada_mark mark = of_event(0, i % 4000);

		put(&mark);
		if (i % 1000 == 999)
			ada_marks_read(marks);
	}
	ada_marks_read(marks);
	for (size_t i = 0; i < ada_windows_count(windows); i++)
		marked += ada_windows_at(windows, i)->marked_count;
	assert_int_equal(marked, 10 * ADA_MARKS);
	assert_int_equal(segment.shm->marks.tail, 10 * ADA_MARKS);
}

static void missed_marks_are_one(void **state)
{
	struct ada_mark mark = of_event(0, 100);

	put(&mark);
	segment.shm->marks.missed = 41;
	segment.shm->marks.missed_rules = 8;
	segment.shm->marks.missed_start = counter_of(0, 90);
	segment.shm->marks.missed_end = counter_of(0, 200);
	ada_marks_read(marks);
	assert_int_equal(ada_windows_count(windows), 1);
	expect(0, 2 * counter_of(0, 90), 2 * counter_of(0, 200), 42, 0);
	assert_int_equal(ada_windows_at(windows, 0)->rules, 2 | 8);
	assert_int_equal(segment.shm->marks.missed, 0);
}

/* An agent adds its bounds, then its number; the recorder was in between. */
static void a_missed_mark_may_have_no_bounds_left(void **state)
{
	struct ada_mark mark = of_event(0, 100);
	uint64_t before;
	const struct ada_window *window;

	put(&mark);
	segment.shm->marks.missed = 1;
	segment.shm->marks.missed_rules = 8;
	segment.shm->detail.own_start = UINT64_MAX;
	before = ada_clock_counter();
	ada_marks_read(marks);
	assert_int_equal(ada_windows_count(windows), 1);
	window = ada_windows_at(windows, 0);
	assert_int_equal(window->start_ns, 2 * counter_of(0, 100));
	assert_in_range(window->end_ns, 2 * before, 2 * ada_clock_counter());
	assert_int_equal(segment.shm->detail.own_start, UINT64_MAX); /* holds no chunk */
}

static void garbage_costs_only_windows(void **state)
{
	srand(7);
	for (int round = 0; round < 300; round++) {
		uint64_t end = 0;

		for (int i = 0; i < 50; i++) {
			struct ada_mark mark;

			for (size_t byte = 0; byte < sizeof mark; byte++)
				((uint8_t *)&mark)[byte] = (uint8_t)(rand() % 3 ? rand() : 0);
			if (rand() % 2) {
				mark.counter = counter_of(0, (uint64_t)rand() % 5000);
				mark.thread = (uint32_t)rand() % 5;
				mark.seq %= 6000;
			}
			put(&mark);
		}
		segment.shm->marks.missed = (uint64_t)rand() % 2;
		segment.shm->marks.missed_start = rand() % 2 ? UINT64_MAX - (uint64_t)rand() : (uint64_t)rand();
		segment.shm->marks.missed_end = rand() % 2 ? UINT64_MAX : (uint64_t)rand();
		if (round % 50 == 49)
			segment.shm->marks.head += (uint64_t)rand() << 20; /* no agent does that */
		ada_marks_read(marks);
		for (size_t i = 0; i < ada_windows_count(windows); i++) {
			const struct ada_window *window = ada_windows_at(windows, i);

			assert_true(window->start_ns <= window->end_ns);
			assert_true(!i || window->start_ns > end);
			end = window->end_ns;
		}
		if (round % 50 == 49)
			segment.shm->marks.head = segment.shm->marks.tail;
	}
	ada_marks_finish(marks, 1 << 30);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(seconds_are_exact),
		TEST(events_are_exact),
		TEST(of_both_the_longer_one),
		TEST(a_post_roll_ends_when_its_event_comes),
		TEST(fewer_events_than_the_pre_roll_asks_for),
		TEST(a_pre_roll_that_is_overwritten),
		TEST(the_thread_ends_in_the_post_roll),
		TEST(the_process_ends_in_the_post_roll),
		TEST(places_follow_once_the_index_is_drained),
		TEST(places_follow_of_a_window_that_is_settled),
		TEST(a_place_that_is_not_ready_holds_up_no_other),
		TEST(a_place_that_is_ready_late),
		TEST(the_ring_goes_round),
		TEST(missed_marks_are_one),
		TEST(a_missed_mark_may_have_no_bounds_left),
		TEST(garbage_costs_only_windows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
