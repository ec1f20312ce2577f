/* Windows, by the edge cases of BH-007 and against a model that knows every ns. */
#include "../test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "recorder/detail/window.h"

static struct ada_windows *windows;

static int set_up(void **state)
{
	windows = ada_windows_open(100);
	return windows ? 0 : -1;
}

static int tear_down(void **state)
{
	ada_windows_close(windows);
	return 0;
}

static struct ada_window_mark mark_of(uint64_t ns, uint64_t pre, uint64_t post, uint64_t rules)
{
	return (struct ada_window_mark){ .ns = ns,
					 .rules = rules,
					 .version = 1,
					 .thread = 0,
					 .start_ns = ns - pre,
					 .end_ns = ns + post,
					 .pre_ns = pre,
					 .post_ns = post,
					 .pin_start = ns - pre };
}

static void mark(uint64_t ns, uint64_t pre, uint64_t post, uint64_t rules)
{
	struct ada_window_mark entered = mark_of(ns, pre, post, rules);

	assert_int_equal(ada_windows_mark(windows, &entered), 0);
}

static void mark_open(uint64_t ns, uint64_t pre, uint64_t ticket)
{
	struct ada_window_mark entered = mark_of(ns, pre, 0, 1);

	entered.end_ns = ADA_WINDOW_OPEN;
	entered.ticket = ticket;
	assert_int_equal(ada_windows_mark(windows, &entered), 0);
}

static void expect(size_t i, uint64_t start, uint64_t end, uint64_t marked_count, uint32_t shorts)
{
	struct ada_window *window = ada_windows_at(windows, i);

	assert_int_equal(window->start_ns, start);
	assert_int_equal(window->end_ns, end);
	assert_int_equal(window->marked_count, marked_count);
	assert_int_equal(window->shorts, shorts);
	assert_int_equal(window->id, i);
}

static void one_mark_is_one_window(void **state)
{
	struct ada_window *window;

	mark(1000, 50, 70, 4);
	assert_int_equal(ada_windows_count(windows), 1);
	expect(0, 950, 1070, 1, 0);
	window = ada_windows_at(windows, 0);
	assert_int_equal(window->marked_ns, 1000);
	assert_int_equal(window->rules, 4);
	assert_int_equal(window->asked_start_ns, 950);
	assert_int_equal(window->asked_end_ns, 1070);
	assert_false(ada_windows_tick(windows, 1070)); /* its last ns isn't over yet */
	assert_false(window->closed);
	assert_true(ada_windows_tick(windows, 1071));
	assert_true(window->closed);
	assert_false(ada_windows_tick(windows, 1072));
	assert_ptr_equal(ada_windows_of(windows, 950), window);
	assert_ptr_equal(ada_windows_of(windows, 1070), window);
	assert_null(ada_windows_of(windows, 949));
	assert_null(ada_windows_of(windows, 1071));
}

static void multiple_triggers_in_quick_succession(void **state)
{
	struct ada_window *window;

	for (uint64_t i = 0; i < 10; i++)
		mark(1000 + i * 100, 60, 60, 1ull << i % 3); /* 120 ns each, 100 apart */
	assert_int_equal(ada_windows_count(windows), 1);
	expect(0, 940, 1960, 10, 0);
	window = ada_windows_at(windows, 0);
	assert_int_equal(window->rules, 7);
	assert_int_equal(window->marks.count, 10);
	assert_int_equal(window->marked_ns, 1000);
	assert_int_equal(window->last_marked_ns, 1900);
	mark(2100, 100, 10, 8);
	assert_int_equal(ada_windows_count(windows), 2);
	expect(1, 2000, 2110, 1, 0);
	mark(1980, 19, 10, 16); /* touches the first (1961), ends 1990 */
	assert_int_equal(ada_windows_count(windows), 2);
	expect(0, 940, 1990, 11, 0);
	mark(1995, 4, 4, 32); /* 1991 to 1999: joins both */
	assert_int_equal(ada_windows_count(windows), 1);
	expect(0, 940, 2110, 13, 0);
	assert_int_equal(ada_windows_at(windows, 0)->rules, 7 | 8 | 16 | 32);
}

static void marks_come_in_any_order(void **state)
{
	struct ada_window *window;

	mark(2000, 10, 10, 2);
	mark(1000, 10, 10, 1);
	mark(1500, 10, 10, 4);
	assert_int_equal(ada_windows_count(windows), 3);
	expect(0, 990, 1010, 1, 0);
	expect(1, 1490, 1510, 1, 0);
	expect(2, 1990, 2010, 1, 0);
	mark(1505, 20, 0, 1);
	mark(1495, 0, 0, 8);
	expect(1, 1485, 1510, 3, 0);
	window = ada_windows_at(windows, 1);
	assert_int_equal(window->marked_ns, 1495);
	assert_int_equal(window->marks.items[0].rules, 8);
	assert_int_equal(window->marks.items[2].rules, 1);
}

static void a_longer_pre_roll_reaches_into_a_closed_window(void **state)
{
	mark(1000, 10, 10, 1);
	ada_windows_tick(windows, 1500);
	assert_true(ada_windows_at(windows, 0)->closed);
	mark(2000, 1000, 10, 2);
	assert_int_equal(ada_windows_count(windows), 1);
	expect(0, 990, 2010, 2, 0);
	assert_false(ada_windows_at(windows, 0)->closed);
}

static void a_frozen_window_begins_where_it_begins(void **state)
{
	mark(1000, 10, 100, 1);
	ada_windows_at(windows, 0)->frozen = true;
	mark(1050, 200, 100, 2); /* would begin at 850 */
	assert_int_equal(ada_windows_count(windows), 1);
	expect(0, 990, 1150, 2, ADA_SHORT_FROZEN);
	assert_int_equal(ada_windows_at(windows, 0)->asked_start_ns, 850);
	ada_windows_tick(windows, 1200);
	mark(1300, 1000, 50, 4); /* it is closed, and being written: the new one begins right after */
	assert_int_equal(ada_windows_count(windows), 2);
	expect(0, 990, 1150, 2, ADA_SHORT_FROZEN);
	expect(1, 1151, 1350, 1, ADA_SHORT_FROZEN);
	ada_windows_at(windows, 0)->settled = true;
	mark(1360, 9, 50, 4);
	expect(1, 1151, 1410, 2, ADA_SHORT_FROZEN);
}

static void a_settled_window_never_changes(void **state)
{
	mark(1000, 10, 100, 1);
	ada_windows_tick(windows, 1101);
	ada_windows_at(windows, 0)->frozen = ada_windows_at(windows, 0)->settled = true;
	mark(1010, 5, 5, 2); /* late, and all of it is written */
	assert_int_equal(ada_windows_count(windows), 1);
	expect(0, 990, 1100, 1, 0);
	mark(1090, 5, 50, 2); /* late: the rest of what it asks for */
	assert_int_equal(ada_windows_count(windows), 2);
	expect(0, 990, 1100, 1, 0);
	expect(1, 1101, 1140, 1, ADA_SHORT_FROZEN);
	mark(500, 5, 5, 2);
	ada_windows_hole(windows, 1000, 1120, ADA_SHORT_STARVED);
	expect(0, 990, 1100, 1, 0);
	expect(1, 1121, 1140, 1, ADA_SHORT_FROZEN | ADA_SHORT_STARVED);
}

static void trigger_during_startup(void **state)
{
	mark(130, 50, 20, 1);
	expect(0, 100, 150, 1, ADA_SHORT_STARTUP);
	assert_int_equal(ada_windows_at(windows, 0)->asked_start_ns, 80);
	mark(1000, 900, 0, 1);
	assert_int_equal(ada_windows_count(windows), 1); /* begins exactly with the recording */
	expect(0, 100, 1000, 2, ADA_SHORT_STARTUP);
}

static void trigger_near_process_exit(void **state)
{
	mark(1000, 50, 100, 1);
	mark(2000, 50, 100, 1);
	mark_open(2990, 10, 7);
	ada_windows_tick(windows, 1500);
	ada_windows_end(windows, 2050, ADA_SHORT_EXIT);
	assert_int_equal(ada_windows_count(windows), 3);
	expect(0, 950, 1100, 1, 0);
	expect(1, 1950, 2050, 1, ADA_SHORT_EXIT);
	expect(2, 2980, 2980, 1, ADA_SHORT_EXIT); /* a mark behind the end makes no sense, but does no harm */
	assert_int_equal(ada_windows_at(windows, 1)->asked_end_ns, 2100);
	for (size_t i = 0; i < 3; i++)
		assert_true(ada_windows_at(windows, i)->closed);
	mark(2040, 5, 500, 2); /* told after the end */
	expect(1, 1950, 2050, 2, ADA_SHORT_EXIT);
}

static void a_window_that_is_over_before_the_exit_is_not_short(void **state)
{
	mark(1000, 50, 100, 1);
	ada_windows_end(windows, 1100, ADA_SHORT_EXIT);
	expect(0, 950, 1100, 1, 0);
	assert_true(ada_windows_at(windows, 0)->closed);
}

static void no_marked_events(void **state)
{
	assert_int_equal(ada_windows_count(windows), 0);
	assert_false(ada_windows_tick(windows, 5000));
	ada_windows_hole(windows, 200, 300, ADA_SHORT_OVERRUN);
	ada_windows_end(windows, 6000, ADA_SHORT_EXIT);
	assert_int_equal(ada_windows_count(windows), 0);
	assert_null(ada_windows_of(windows, 250));
}

static void ring_buffer_overflow_before_dump(void **state)
{
	ada_windows_hole(windows, 0, 980, ADA_SHORT_OVERRUN); /* before the mark is known */
	mark(1000, 50, 100, 1);
	expect(0, 981, 1100, 1, ADA_SHORT_OVERRUN);
	assert_int_equal(ada_windows_at(windows, 0)->asked_start_ns, 950);
	mark(2000, 50, 100, 1);
	ada_windows_hole(windows, 0, 1960, ADA_SHORT_OVERRUN); /* after */
	assert_int_equal(ada_windows_count(windows), 1);
	expect(0, 1961, 2100, 2, ADA_SHORT_OVERRUN); /* what the first had is gone: it is told where history begins */
}

static void what_is_older_than_history_is_no_pre_roll(void **state)
{
	ada_windows_hole(windows, 960, 980, ADA_SHORT_OVERRUN);
	mark(1000, 50, 100, 1); /* from 950: ten ns more are left, of no use */
	assert_int_equal(ada_windows_count(windows), 1);
	expect(0, 981, 1100, 1, ADA_SHORT_OVERRUN);
	mark(2000, 50, 100, 1);
	ada_windows_hole(windows, 1960, 1980, ADA_SHORT_OVERRUN);
	assert_int_equal(ada_windows_count(windows), 2);
	expect(0, 981, 1100, 1, ADA_SHORT_OVERRUN);
	expect(1, 1981, 2100, 1, ADA_SHORT_OVERRUN);
}

static void a_hole_cuts_a_window_in_two(void **state)
{
	mark(1000, 100, 100, 1);
	mark(1080, 100, 100, 2);
	ada_windows_hole(windows, 1020, 1030, ADA_SHORT_STARVED);
	assert_int_equal(ada_windows_count(windows), 2);
	expect(0, 900, 1019, 1, ADA_SHORT_STARVED);
	expect(1, 1031, 1180, 1, ADA_SHORT_STARVED);
	assert_int_equal(ada_windows_at(windows, 0)->marked_ns, 1000);
	assert_int_equal(ada_windows_at(windows, 1)->marked_ns, 1080);
	assert_int_equal(ada_windows_at(windows, 1)->marks.items[0].rules, 2);
	mark(1100, 100, 10, 4); /* asks for both again: they stay apart */
	assert_int_equal(ada_windows_count(windows), 2);
	expect(0, 900, 1019, 1, ADA_SHORT_STARVED);
	expect(1, 1031, 1180, 2, ADA_SHORT_STARVED);
}

static void the_part_without_marks_says_what_it_was_part_of(void **state)
{
	struct ada_window *part;

	mark(1000, 100, 100, 1);
	ada_windows_hole(windows, 950, 960, ADA_SHORT_STARVED);
	assert_int_equal(ada_windows_count(windows), 2);
	expect(0, 900, 949, 0, ADA_SHORT_STARVED);
	expect(1, 961, 1100, 1, ADA_SHORT_STARVED);
	part = ada_windows_at(windows, 0);
	assert_int_equal(part->rules, 1);
	assert_int_equal(part->marked_ns, 1000);
	assert_int_equal(part->asked_start_ns, 900);
	assert_int_equal(part->asked_end_ns, 1100);
	assert_int_equal(part->marks.count, 0);
	assert_int_equal(ada_windows_at(windows, 1)->marks.count, 1);
}

static void a_window_all_in_a_hole_is_still_told(void **state)
{
	mark(1000, 100, 100, 1);
	ada_windows_hole(windows, 890, 1200, ADA_SHORT_STARVED);
	assert_int_equal(ada_windows_count(windows), 1);
	expect(0, 1201, 1201, 1, ADA_SHORT_STARVED);
	mark(1000, 20, 20, 2);
	expect(0, 1201, 1201, 2, ADA_SHORT_STARVED);
	ada_windows_hole(windows, 1190, 1300, ADA_SHORT_STARVED);
	expect(0, 1301, 1301, 2, ADA_SHORT_STARVED);
}

static void a_post_roll_in_events_stays_open(void **state)
{
	mark_open(1000, 10, 77);
	expect(0, 990, ADA_WINDOW_OPEN, 1, 0);
	ada_windows_tick(windows, 100000);
	assert_false(ada_windows_at(windows, 0)->closed);
	mark(2000, 10, 10, 2);
	assert_int_equal(ada_windows_count(windows), 1);
	ada_windows_resolve(windows, 76, 5000, 0);
	expect(0, 990, ADA_WINDOW_OPEN, 2, 0);
	ada_windows_resolve(windows, 77, 2005, 0);
	expect(0, 990, 2010, 2, 0);
	mark_open(3000, 10, 78);
	mark_open(3001, 10, 79);
	ada_windows_resolve(windows, 78, 3100, 0);
	assert_int_equal(ada_windows_at(windows, 1)->end_ns, ADA_WINDOW_OPEN);
	ada_windows_resolve(windows, 79, 3050, ADA_SHORT_THREAD);
	expect(1, 2990, 3100, 2, 0); /* the other one's end is later: it is not short */
	mark_open(4000, 10, 80);
	ada_windows_resolve(windows, 80, 4020, ADA_SHORT_THREAD);
	expect(2, 3990, 4020, 1, ADA_SHORT_THREAD);
	mark_open(5000, 10, 81);
	ada_windows_end(windows, 5100, ADA_SHORT_EXIT);
	expect(3, 4990, 5100, 1, ADA_SHORT_EXIT);
	assert_int_equal(ada_windows_at(windows, 3)->asked_end_ns, ADA_WINDOW_OPEN);
}

static void a_hole_in_an_open_window(void **state)
{
	mark_open(1000, 10, 1);
	ada_windows_hole(windows, 1100, 1200, ADA_SHORT_STARVED);
	assert_int_equal(ada_windows_count(windows), 2);
	expect(0, 990, 1099, 1, ADA_SHORT_STARVED);
	expect(1, 1201, ADA_WINDOW_OPEN, 0, ADA_SHORT_STARVED);
	ada_windows_resolve(windows, 1, 1050, 0); /* it was over before: nothing is left behind the hole */
	assert_int_equal(ada_windows_count(windows), 1);
	assert_int_equal(ada_windows_at(windows, 0)->end_ns, 1050);
	mark_open(2000, 10, 2);
	ada_windows_hole(windows, 2100, 2200, ADA_SHORT_STARVED);
	ada_windows_resolve(windows, 2, 2300, 0);
	expect(1, 1990, 2099, 1, ADA_SHORT_STARVED);
	expect(2, 2201, 2300, 0, ADA_SHORT_STARVED);
}

static void what_is_written_is_not_taken_back(void **state)
{
	mark_open(1000, 10, 1);
	ada_windows_at(windows, 0)->frozen = true;
	ada_windows_at(windows, 0)->written_ns = 1300;
	ada_windows_resolve(windows, 1, 1200, 0);
	expect(0, 990, 1300, 1, 0);
}

static void a_window_that_keeps_all(void **state)
{
	struct ada_window_mark all = { .ns = 100, .start_ns = 0, .end_ns = ADA_WINDOW_OPEN, .none = true };
	struct ada_window *window;

	assert_int_equal(ada_windows_mark(windows, &all), 0);
	mark(1000, 10, 10, 2);
	mark_open(2000, 10, 5);
	ada_windows_resolve(windows, 5, 2100, 0);
	assert_int_equal(ada_windows_count(windows), 1);
	window = ada_windows_at(windows, 0);
	assert_int_equal(window->end_ns, ADA_WINDOW_OPEN);
	assert_int_equal(window->marked_count, 2);
	assert_int_equal(window->marked_ns, 1000);
	assert_int_equal(window->marks.count, 2);
	ada_windows_end(windows, 5000, ADA_SHORT_EXIT);
	assert_int_equal(window->end_ns, 5000);
	assert_int_equal(window->shorts & ADA_SHORT_EXIT, 0);
}

static void a_million_marks_cost_no_million_places(void **state)
{
	struct ada_window_mark many = mark_of(1000, 10, 10, 1);
	struct ada_window *window;

	many.more = 41;
	assert_int_equal(ada_windows_mark(windows, &many), 0);
	for (uint64_t i = 0; i < 1000000; i++)
		mark(1001 + i, 10, 10, 2);
	assert_int_equal(ada_windows_count(windows), 1);
	window = ada_windows_at(windows, 0);
	assert_int_equal(window->marked_count, 1000042);
	assert_int_equal(window->marks.count, ADA_WINDOW_MARKS_KEPT);
	assert_int_equal(window->end_ns, 1001010);
	assert_int_equal(window->last_marked_ns, 1001000);
}

/* --- against a model: what each ns is ---------------------------------------------------------------------------------- */
#define NS 400u
#define OPEN_TICKET 9
struct model {
	bool asked[NS], hole[NS];
	bool maybe[NS]; /* between a post-roll that was open and what it had absorbed */
	uint64_t marks[NS], total;
	uint64_t open_start, open_ns, open_end; /* of the ask that is open; start 0: none */
};

static uint64_t below(uint64_t limit)
{
	return (uint64_t)rand() % limit;
}

static void ask(struct model *model, uint64_t start, uint64_t end)
{
	for (uint64_t ns = start < 100 ? 100 : start; ns <= end && ns < NS; ns++)
		model->asked[ns] = true;
}

static void step(struct model *model)
{
	uint64_t ns = 100 + below(280), pre = below(30), post = below(30), what = below(20);

	if (what < 12) {
		mark(ns, pre, post, 1ull << below(64));
		ask(model, ns - pre, ns + post);
		model->marks[ns]++;
		model->total++;
		if (model->open_start && ns + post >= model->open_start && ns + post > model->open_end)
			model->open_end = ns + post;
	} else if (what < 17) {
		uint64_t to = ns + below(12);

		ada_windows_hole(windows, ns, to, ADA_SHORT_STARVED);
		for (uint64_t i = ns; i <= to && i < NS; i++)
			model->hole[i] = true;
	} else if (what < 18 && !model->open_start) {
		mark_open(ns, pre, OPEN_TICKET);
		model->open_start = ns - pre > 100 ? ns - pre : 100;
		model->open_end = model->open_ns = ns;
		for (uint64_t i = NS - 1; i > ns; i--) /* what it absorbs */
			if (model->asked[i] && model->open_end == ns)
				model->open_end = i;
		model->marks[ns]++;
		model->total++;
	} else if (model->open_start) {
		uint64_t end = 100 + below(280);

		ada_windows_resolve(windows, OPEN_TICKET, end, 0);
		ask(model, model->open_start, end > model->open_ns ? end : model->open_ns);
		for (uint64_t i = model->open_start; i <= model->open_end && i < NS; i++)
			model->maybe[i] = true;
		model->open_start = 0;
	} else {
		ada_windows_tick(windows, ns);
	}
}

/* `window` without detail: all that its marks asked for lay in holes; it stands right behind one. */
static bool stands_behind_hole(const struct model *model, const struct ada_window *window)
{
	return window->start_ns == window->end_ns && window->start_ns < NS && model->hole[window->start_ns - 1];
}

static void compare(const struct model *model)
{
	uint64_t total = 0;
	bool covered[NS] = { false };

	for (size_t i = 0; i < ada_windows_count(windows); i++) {
		const struct ada_window *window = ada_windows_at(windows, i);
		uint64_t kept = 0;

		assert_int_equal(window->id, i);
		assert_true(window->start_ns <= window->end_ns);
		assert_true(!i || window->start_ns > ada_windows_at(windows, i - 1)->end_ns + 1);
		for (uint64_t ns = window->start_ns; ns <= window->end_ns && ns < NS; ns++) {
			bool asked = model->asked[ns] || (model->open_start && ns >= model->open_start);

			covered[ns] = true;
			kept += model->marks[ns];
			assert_false(model->hole[ns]);
			assert_true(asked || model->maybe[ns] || stands_behind_hole(model, window) ||
				    (ns == window->start_ns && model->hole[ns - 1]));
		}
		assert_true(window->marked_count >= kept); /* more: marks within holes */
		total += window->marked_count;
	}
	assert_int_equal(total, model->total);
	for (uint64_t ns = 100; ns < NS; ns++)
		if (!covered[ns] && !model->hole[ns])
			assert_false(model->asked[ns] || (model->open_start && ns >= model->open_start));
}

static void as_a_model_that_knows_every_ns(void **state)
{
	for (unsigned seed = 1; seed <= 3000; seed++) {
		struct model model = { .total = 0 };

		ada_windows_close(windows);
		windows = ada_windows_open(100);
		assert_non_null(windows);
		srand(seed);
		for (int i = 0; i < 25; i++) {
			step(&model);
			compare(&model);
		}
	}
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_mark_is_one_window),
		TEST(multiple_triggers_in_quick_succession),
		TEST(marks_come_in_any_order),
		TEST(a_longer_pre_roll_reaches_into_a_closed_window),
		TEST(a_frozen_window_begins_where_it_begins),
		TEST(a_settled_window_never_changes),
		TEST(trigger_during_startup),
		TEST(trigger_near_process_exit),
		TEST(a_window_that_is_over_before_the_exit_is_not_short),
		TEST(no_marked_events),
		TEST(ring_buffer_overflow_before_dump),
		TEST(what_is_older_than_history_is_no_pre_roll),
		TEST(a_hole_cuts_a_window_in_two),
		TEST(the_part_without_marks_says_what_it_was_part_of),
		TEST(a_window_all_in_a_hole_is_still_told),
		TEST(a_post_roll_in_events_stays_open),
		TEST(a_hole_in_an_open_window),
		TEST(what_is_written_is_not_taken_back),
		TEST(a_window_that_keeps_all),
		TEST(a_million_marks_cost_no_million_places),
		TEST(as_a_model_that_knows_every_ns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
