/* The walk through a selection's calls: what is told, in which order, at which times; and counters over long recordings. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "../query/fixture.h"
#include "query/export/parts.h"
#include "query/export/walk.h"

static const char *const names[] = { "main", "leaf", "fib" };
enum { MAIN, LEAF, FIB };

struct told {
	char text[1024];
	size_t used;
};

static void say(struct told *told, const char *what, uint64_t function, uint64_t ns)
{
	told->used += (size_t)snprintf(told->text + told->used, sizeof told->text - told->used, "%s %s %lld; ", what, names[function],
				       (long long)(ns - SYNTH_START_NS));
}

static int begun(void *context, struct ada_call *call)
{
	say(context, "+", call->function_id, call->start_ns);
	return 0;
}

static int left(void *context, struct ada_call *call, uint64_t last_ns)
{
	say(context, "left", call->function_id, last_ns);
	return 0;
}

static int ended(void *context, const struct ada_call *call, bool cut)
{
	if (call->outcome == ADA_OUTCOME_UNKNOWN)
		say(context, "unknown", call->function_id, call->start_ns);
	else
		say(context,
		    cut				      ? "cut" :
		    call->outcome == ADA_OUTCOME_OPEN ? "open" :
		    call->aside			      ? "late" :
							"-",
		    call->function_id, call->end_ns);
	return 0;
}

static int refuse(void *context, const struct ada_call *call, bool cut)
{
	return -EIO;
}

static struct told walk(struct fixture *fixture, bool whole)
{
	struct ada_export export = { .selection = &fixture->selection };
	struct ada_error error = {};
	struct told told = {};

	assert_int_equal(ada_export_walk(&export,
					 &(struct ada_export_receiver){
						 .context = &told, .whole = whole, .begun = begun, .left = left, .ended = ended },
					 &error),
			 0);
	assert_int_equal(export.completeness.events, ada_export_events(&fixture->selection));
	return told;
}

/* main 0 to 100: leaf 10 to 20, fib 30 to 60 with leaf 40 to 50, leaf 70 to 80. */
static void make_nested(struct fixture *fixture)
{
	static const struct {
		uint64_t function, pass;
	} steps[] = { { MAIN, 10 }, { LEAF, 10 }, { 9, 10 },	{ FIB, 10 }, { LEAF, 10 },
		      { 9, 10 },    { 9, 10 },	  { LEAF, 10 }, { 9, 20 },   { 9, 0 } };
	struct synth_thread *thread;

	synth_process(fixture->synth, 10);
	synth_module(fixture->synth, "/bin/prog", names, 3);
	thread = synth_thread(fixture->synth, 10, "t");
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		if (steps[i].function == 9)
			synth_return(thread);
		else
			synth_call(thread, steps[i].function);
		if (i == 4)
			synth_roll(thread);
		synth_pass(thread, steps[i].pass);
	}
}

static void test_everything(void **state)
{
	struct fixture *fixture = *state;

	make_nested(fixture);
	fixture_open(fixture, true, NULL, NULL, NULL);
	assert_string_equal(walk(fixture, false).text, "+ main 0; + leaf 10; - leaf 20; + fib 30; + leaf 40; - leaf 50; - fib 60; "
						       "+ leaf 70; - leaf 80; - main 100; ");
	assert_string_equal(walk(fixture, true).text, walk(fixture, false).text);
}

static void test_cut(void **state)
{
	struct fixture *fixture = *state;

	make_nested(fixture);
	fixture_open(fixture, true, NULL, "+35ns", "+45ns");
	assert_string_equal(walk(fixture, false).text, "+ main 0; + fib 30; + leaf 40; cut leaf 45; cut fib 45; cut main 45; ");
	/* Followed to its end; those around it are told as they were. */
	assert_string_equal(walk(fixture, true).text, "+ main 0; + fib 30; + leaf 40; - leaf 50; cut fib 50; cut main 50; ");
}

/* An event at the selection's start belongs to it, one at its end doesn't. */
static void test_bounds(void **state)
{
	struct fixture *fixture = *state;
	uint64_t first, last;

	make_nested(fixture);
	fixture_open(fixture, true, NULL, "+20ns", "+30ns");
	ada_selection_range(&fixture->selection, fixture->selection.threads.items[0], &first, &last);
	assert_int_equal(first, 2);
	assert_int_equal(last, 3);
	assert_string_equal(walk(fixture, false).text, "+ main 0; + leaf 10; - leaf 20; cut main 30; ");
	assert_string_equal(walk(fixture, true).text, "+ main 0; + leaf 10; - leaf 20; cut main 30; ");
}

static void test_between_events(void **state)
{
	struct fixture *fixture = *state;

	make_nested(fixture);
	fixture_open(fixture, true, NULL, "+81ns", "+99ns");
	assert_string_equal(walk(fixture, false).text, "+ main 0; cut main 99; ");
}

static void test_before_and_behind(void **state)
{
	struct fixture *fixture = *state;
	char to[32];

	make_nested(fixture);
	snprintf(to, sizeof to, "%llu", SYNTH_START_NS - 5);
	fixture_open(fixture, true, NULL, NULL, to);
	assert_string_equal(walk(fixture, false).text, "");
}

static void test_loss_and_open_end(void **state)
{
	struct fixture *fixture = *state;
	struct synth_thread *thread;

	synth_process(fixture->synth, 10);
	synth_module(fixture->synth, "/bin/prog", names, 3);
	thread = synth_thread(fixture->synth, 10, "t");
	synth_call(thread, MAIN);
	synth_pass(thread, 10);
	synth_call(thread, FIB);
	synth_pass(thread, 10);
	synth_lost(thread, 5, 1);
	synth_pass(thread, 10);
	synth_call(thread, LEAF);
	fixture_open(fixture, true, NULL, NULL, NULL);
	/* fib was there at 10, before the loss; what is open at the end ends with the process. */
	assert_string_equal(walk(fixture, false).text, "+ main 0; + fib 10; left fib 10; unknown fib 10; + leaf 30; open leaf 1000000000; "
						       "open main 1000000000; ");
}

static void test_a_refusal_ends_the_walk(void **state)
{
	struct fixture *fixture = *state;
	struct ada_export export = { .selection = &fixture->selection };
	struct ada_error error = {};

	make_nested(fixture);
	fixture_open(fixture, true, NULL, NULL, NULL);
	assert_int_equal(ada_export_walk(&export, &(struct ada_export_receiver){ .ended = refuse }, &error), -EIO);
	assert_non_null(strstr(error.text, "Input/output error"));
}

static int add_point(void *context, uint64_t ns, uint64_t value)
{
	struct told *told = context;

	told->used += (size_t)snprintf(told->text + told->used, sizeof told->text - told->used, "%llu:%llu ",
				       (unsigned long long)(ns - SYNTH_START_NS), (unsigned long long)value);
	return 0;
}

/* 30 minutes: 180,000 times 10 ms, too many; 40 ms each then. */
static void test_counters_of_a_long_recording(void **state)
{
	struct fixture *fixture = *state;
	struct ada_export_rates rates = {};
	struct synth_thread *thread;
	struct told told = {};

	synth_process(fixture->synth, 10);
	synth_module(fixture->synth, "/bin/prog", names, 3);
	thread = synth_thread(fixture->synth, 10, "t");
	synth_call(thread, MAIN);
	synth_pass(thread, 1800000000000);
	synth_return(thread);
	fixture_open(fixture, true, NULL, NULL, NULL);
	assert_int_equal(ada_export_rates_begin(&rates, &fixture->selection, fixture->session->processes.items[0]), 0);
	assert_int_equal(rates.bucket_ns, 40000000);
	for (uint64_t i = 0; i < 2; i++)
		ada_export_rates_count(&rates, atf_thread_get(fixture->selection.threads.items[0]->events, i));
	ada_export_rates_count(&rates, &(struct ada_event){ .timestamp_ns = 5 }); /* as in a damaged file */
	ada_export_rates_count(&rates, &(struct ada_event){ .timestamp_ns = UINT64_MAX });
	assert_int_equal(ada_export_rates_tell(&rates, rates.events, &told, add_point), 0);
	assert_string_equal(told.text, "0:2 40000000:0 1800000000000:2 1800000000001:0 ");
	assert_false(rates.any_lost);
	ada_export_rates_close(&rates);
}

int main(void)
{
	static const struct CMUnitTest tests[] = { FIXTURE_TEST(test_everything),
						   FIXTURE_TEST(test_cut),
						   FIXTURE_TEST(test_bounds),
						   FIXTURE_TEST(test_between_events),
						   FIXTURE_TEST(test_before_and_behind),
						   FIXTURE_TEST(test_loss_and_open_end),
						   FIXTURE_TEST(test_a_refusal_ends_the_walk),
						   FIXTURE_TEST(test_counters_of_a_long_recording) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
