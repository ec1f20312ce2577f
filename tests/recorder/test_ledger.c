/* The ledger of what recording costs: counts by function, estimates behind the first millions, and the price of an event. */
#include "../test.h"

#include "recorder/index/ledger.h"
#include "recorder/state/provider.h"

#define PAIRS 512u

/* PAIRS calls of `function` that last `ns` each. */
static void pairs(struct ada_event events[2 * PAIRS], uint64_t function, uint64_t ns)
{
	for (size_t i = 0; i < 2 * PAIRS; i++)
		events[i] = (struct ada_event){ .timestamp_ns = 1000 + i / 2 * (ns + 5) + i % 2 * ns,
						.function_id = function,
						.event_kind = i % 2 ? ADA_EVENT_RETURN : ADA_EVENT_CALL };
}

static void counts_what_it_is_shown(void **state)
{
	const uint64_t outer = ADA_FUNCTION_ID(0, 3), inner = ADA_FUNCTION_ID(7, 1);
	const struct ada_event events[] = {
		{ .timestamp_ns = 10, .function_id = outer, .event_kind = ADA_EVENT_CALL },
		{ .timestamp_ns = 20, .function_id = inner, .event_kind = ADA_EVENT_CALL },
		{ .timestamp_ns = 50, .function_id = inner, .event_kind = ADA_EVENT_RETURN },
		{ .timestamp_ns = 60, .function_id = 12, .event_kind = ADA_EVENT_LOST },
		{ .timestamp_ns = 70, .function_id = inner, .event_kind = ADA_EVENT_CALL },
		{ .timestamp_ns = 900, .function_id = inner, .event_kind = ADA_EVENT_RETURN },
		{ .timestamp_ns = 910, .function_id = outer, .event_kind = ADA_EVENT_EXCEPTION },
	};
	struct ada_ledger ledger = { 0 };
	struct ada_ledger_function rows[2];

	ada_ledger_take(&ledger, events, 7);
	assert_int_equal(ledger.events, 7);
	assert_int_equal(ledger.counted, 6);
	assert_int_equal(ada_ledger_dearest(&ledger, rows, 2), 2);
	assert_int_equal(rows[0].function_id, inner);
	assert_int_equal(rows[0].events, 4);
	assert_int_equal(rows[0].leaves, 2);
	assert_int_equal(rows[0].shorts, 1);
	assert_int_equal(rows[0].short_ns, 30);
	assert_int_equal(rows[1].function_id, outer);
	assert_int_equal(rows[1].events, 2);
	assert_int_equal(rows[1].leaves, 0);
	assert_int_equal(ada_ledger_dearest(&ledger, rows, 1), 2);
	assert_int_equal(rows[0].function_id, inner);
	ada_ledger_free(&ledger);
}

static double shown_ns(const struct ada_ledger *ledger)
{
	const struct ada_price none = { 0 };

	return ada_ledger_price(ledger, &none).event_ns;
}

static bool is_near(double ns, double expected)
{
	return ns > expected * 0.999 && ns < expected * 1.001;
}

static void price_is_that_of_the_shortest_function(void **state)
{
	struct ada_event events[2 * PAIRS];
	struct ada_ledger ledger = { 0 };

	pairs(events, 5, 40);
	ada_ledger_take(&ledger, events, 2 * PAIRS);
	assert_true(shown_ns(&ledger) <= 0); /* too few */
	ada_ledger_take(&ledger, events, 2 * PAIRS);
	assert_true(is_near(shown_ns(&ledger), 40 * 1.15));
	pairs(events, 6, 12);
	ada_ledger_take(&ledger, events, 2 * PAIRS);
	ada_ledger_take(&ledger, events, 2 * PAIRS);
	assert_true(is_near(shown_ns(&ledger), 12 * 1.15));
	pairs(events, 7, ADA_LEDGER_SHORT_NS); /* no short call */
	ada_ledger_take(&ledger, events, 2 * PAIRS);
	ada_ledger_take(&ledger, events, 2 * PAIRS);
	assert_true(is_near(shown_ns(&ledger), 12 * 1.15));
	ada_ledger_free(&ledger);
}

static bool is_odd(const void *context, uint64_t function_id)
{
	return function_id % 2;
}

/* A loop's shortest function takes 12 ns; small ones that are called now and then, 80, but for one whose callee is muted. What loops showed
 * before doesn't count for long. */
static void small_functions_show_what_calls_take_here(void **state)
{
	struct ada_event events[2 * PAIRS];
	struct ada_ledger ledger = { 0 };

	pairs(events, 2, 12);
	ada_ledger_take(&ledger, events, 2 * PAIRS);
	ada_ledger_take(&ledger, events, 2 * PAIRS);
	for (uint64_t id = 3; id < 9; id++) { /* those with even numbers aren't small */
		pairs(events, id, id % 2 ? 75 + id : 20);
		ada_ledger_take(&ledger, events, 2 * PAIRS);
	}
	pairs(events, 9, 250);
	ada_ledger_take(&ledger, events, 2 * PAIRS);
	assert_true(ada_ledger_small_ns(&ledger) <= 0);
	ada_ledger_size_up(&ledger, is_odd, NULL);
	assert_true(is_near(ada_ledger_small_ns(&ledger), 80 * 1.15)); /* of 78, 80, 82 and 250 */
	for (unsigned i = 0; i < 20; i++) {
		pairs(events, 11, 20);
		ada_ledger_take(&ledger, events, 2 * PAIRS);
	}
	assert_true(is_near(ada_ledger_small_ns(&ledger), 80 * 1.15)); /* nobody has asked whether that one is small */
	ada_ledger_size_up(&ledger, is_odd, NULL);
	assert_true(is_near(ada_ledger_small_ns(&ledger), 20 * 1.15)); /* now most of the calls are in a loop */
	assert_true(is_near(shown_ns(&ledger), 12 * 1.15));	       /* what is told doesn't follow */
	for (unsigned i = 0; i < 10; i++) {			       /* and now that loop has lost its hook */
		pairs(events, 5, 80);
		ada_ledger_take(&ledger, events, 2 * PAIRS);
		ada_ledger_small_ns(&ledger);
	}
	assert_true(is_near(ada_ledger_small_ns(&ledger), 80 * 1.15));
	ada_ledger_free(&ledger);
}

static void a_price_is_no_less_than_was_measured(void **state)
{
	const struct ada_price none = { 0 }, measured = { .event_ns = 10, .object_ns = 50 };
	struct ada_event events[2 * PAIRS];
	struct ada_ledger ledger = { 0 };
	struct ada_price price = ada_ledger_price(&ledger, &none);

	assert_true(price.event_ns <= 0 && price.object_ns <= 0);
	price = ada_ledger_price(&ledger, &measured);
	assert_true(is_near(price.event_ns, 10) && is_near(price.object_ns, 50));
	pairs(events, 5, 40);
	ada_ledger_take(&ledger, events, 2 * PAIRS);
	ada_ledger_take(&ledger, events, 2 * PAIRS);
	price = ada_ledger_price(&ledger, &none);
	assert_true(is_near(price.event_ns, 40 * 1.15) && is_near(price.object_ns, 40 * 1.15));
	price = ada_ledger_price(&ledger, &measured);
	assert_true(is_near(price.object_ns, 5 * 40 * 1.15));
	ada_ledger_free(&ledger);
}

static void objects_are_counted_beside_the_calls_that_have_them(void **state)
{
	const struct ada_event events[] = {
		{ .timestamp_ns = 5, .function_id = 0xdead, .event_kind = ADA_EVENT_OBJECT }, /* its call was in the batch before */
		{ .timestamp_ns = 10, .function_id = 3, .event_kind = ADA_EVENT_CALL },
		{ .timestamp_ns = 10, .function_id = 0xdead, .event_kind = ADA_EVENT_OBJECT },
		{ .timestamp_ns = 20, .function_id = 3, .event_kind = ADA_EVENT_RETURN },
	};
	struct ada_ledger ledger = { 0 };
	struct ada_ledger_function row;

	ada_ledger_take(&ledger, events, 4);
	assert_int_equal(ledger.objects, 2);
	assert_int_equal(ledger.counted, 2);
	assert_int_equal(ada_ledger_dearest(&ledger, &row, 1), 1);
	assert_int_equal(row.events, 2);
	assert_int_equal(row.objects, 1);
	ada_ledger_free(&ledger);
}

static void behind_the_first_millions_it_counts_one_batch_for_many(void **state)
{
	const size_t whole = ADA_LEDGER_WHOLE / (2 * PAIRS) + 1, more = 10 * ADA_LEDGER_STEP;
	struct ada_event events[2 * PAIRS];
	struct ada_ledger ledger = { 0 };
	struct ada_ledger_function row;

	pairs(events, 5, 40);
	for (size_t i = 0; i < whole; i++)
		ada_ledger_take(&ledger, events, 2 * PAIRS);
	assert_int_equal(ledger.counted, whole * 2 * PAIRS);
	for (size_t i = 0; i < more; i++)
		ada_ledger_take(&ledger, events, 2 * PAIRS);
	assert_int_equal(ledger.events, (whole + more) * 2 * PAIRS);
	assert_int_equal(ledger.counted, ledger.events);
	assert_int_equal(ada_ledger_dearest(&ledger, &row, 1), 1);
	assert_int_equal(row.events, ledger.events);
	assert_int_equal(row.leaves, ledger.events / 2);
	ada_ledger_free(&ledger);
}

/* Whoever asks for news sees all of the next events, however many there were before. */
static void what_follows_news_is_counted_whole(void **state)
{
	struct ada_event events[2 * PAIRS];
	struct ada_ledger ledger = { .events = ADA_LEDGER_WHOLE, .skipped = 1 };

	pairs(events, 5, 40);
	for (int asked = 0; asked < 20; asked++) {
		ada_ledger_news(&ledger, NULL, NULL);
		ada_ledger_take(&ledger, events, 2 * PAIRS);
		assert_int_equal(ledger.counted, (asked + 1) * 2 * PAIRS);
	}
	for (uint64_t i = 2 * PAIRS; i < ADA_LEDGER_ANEW; i += 2 * PAIRS)
		ada_ledger_take(&ledger, events, 2 * PAIRS);
	assert_int_equal(ledger.counted, ledger.events - ADA_LEDGER_WHOLE);
	ada_ledger_take(&ledger, events, 2 * PAIRS); /* one of many again */
	assert_true(ledger.counted < ledger.events - ADA_LEDGER_WHOLE);
	ada_ledger_free(&ledger);
}

static void numbers_that_make_no_sense_are_left_out(void **state)
{
	struct ada_event event = { .function_id = UINT64_MAX, .event_kind = ADA_EVENT_CALL };
	struct ada_ledger ledger = { 0 };

	ada_ledger_take(&ledger, &event, 1);
	event.function_id = ADA_FUNCTION_ID(0, UINT32_MAX);
	ada_ledger_take(&ledger, &event, 1);
	assert_int_equal(ledger.events, 2);
	assert_int_equal(ledger.counted, 0);
	assert_int_equal(ledger.modules.count, 0);
	assert_int_equal(ada_ledger_dearest(&ledger, NULL, 0), 0);
	ada_ledger_free(&ledger);
}

static void a_cost_is_told_where_it_is_worth_a_thought(void **state)
{
	const uint64_t second = 1000000000;
	const struct {
		struct ada_cost cost;
		unsigned told;
	} cases[] = {
		{ { .cost_ns = second / 4, .cpu_ns = second }, 25 },
		{ { .cost_ns = second / 4 - 1, .cpu_ns = second / 2 }, 0 },
		{ { .cost_ns = second, .cpu_ns = 5 * second }, 0 },
		{ { .cost_ns = 84 * second, .cpu_ns = 100 * second }, 84 },
		{ { .cost_ns = second, .cpu_ns = second }, 100 },
		{ { .cost_ns = 3 * second, .cpu_ns = second }, 100 }, /* where the machine is busy events look dearer than they are */
		{ { .cost_ns = second }, 0 },
		{ { 0 }, 0 },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_int_equal(ada_cost_told(&cases[i].cost), cases[i].told);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_what_it_is_shown),
		cmocka_unit_test(price_is_that_of_the_shortest_function),
		cmocka_unit_test(small_functions_show_what_calls_take_here),
		cmocka_unit_test(a_price_is_no_less_than_was_measured),
		cmocka_unit_test(objects_are_counted_beside_the_calls_that_have_them),
		cmocka_unit_test(behind_the_first_millions_it_counts_one_batch_for_many),
		cmocka_unit_test(what_follows_news_is_counted_whole),
		cmocka_unit_test(a_cost_is_told_where_it_is_worth_a_thought),
		cmocka_unit_test(numbers_that_make_no_sense_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
