/* The merged timeline: every event once, in the order of time, with durations at the ends. */
#include "fixture.h"
#include "query/calls/timeline.h"

static const char *const names[] = { "main", "leaf" };

static struct ada_timeline *open_timeline(struct fixture *fixture, bool durations)
{
	struct ada_timeline *timeline;
	struct ada_error error = {};

	if (ada_timeline_open(&timeline, &fixture->selection, durations, &error))
		fail_msg("%s", error.text);
	return timeline;
}

static void test_order_over_threads_and_processes(void **state)
{
	struct fixture *fixture = *state;
	struct ada_timeline *timeline;
	struct ada_moment moment;
	uint64_t count = 0, last = 0, next[64] = {};

	for (uint32_t i = 0; i < 64; i++) {
		struct synth_thread *thread;

		if (i % 32 == 0) {
			synth_process(fixture->synth, 10 + i);
			synth_module(fixture->synth, "/bin/prog", names, 2);
		}
		thread = synth_thread(fixture->synth, 1000 + i, "t");
		for (uint32_t j = 0; j < 50; j++) {
			synth_call(thread, 1);
			synth_pass(thread, (i * 7 + j * 13) % 29);
			synth_return(thread);
			if (j == 20)
				synth_roll(thread);
		}
	}
	fixture_open(fixture, true, NULL, NULL, NULL);
	timeline = open_timeline(fixture, true);
	for (; ada_timeline_next(timeline, &moment); count++) {
		assert_true(moment.event->timestamp_ns >= last);
		last = moment.event->timestamp_ns;
		assert_int_equal(moment.thread->tid, moment.event->thread_id);
		assert_int_equal(moment.position, next[moment.thread->tid - 1000]++); /* none missing, none twice */
		assert_int_equal(moment.duration_known, moment.event->event_kind == ADA_EVENT_RETURN);
	}
	assert_int_equal(count, 64 * 100);
	assert_int_equal(ada_timeline_completeness(timeline).events, 64 * 100);
	assert_true(ada_timeline_completeness(timeline).complete);
	ada_timeline_close(timeline);
}

static void test_durations(void **state)
{
	struct fixture *fixture = *state;
	struct synth_thread *thread;
	struct ada_timeline *timeline;
	struct ada_moment moment;

	synth_process(fixture->synth, 1);
	synth_module(fixture->synth, "/bin/prog", names, 2);
	thread = synth_thread(fixture->synth, 1, "t");
	synth_call(thread, 0);
	synth_pass(thread, 5);
	synth_call(thread, 1);
	synth_pass(thread, 30);
	synth_exception(thread);
	synth_lost(thread, 6, 1);
	synth_return(thread);
	fixture_open(fixture, true, NULL, NULL, NULL);
	timeline = open_timeline(fixture, true);
	assert_true(ada_timeline_next(timeline, &moment) && !moment.duration_known);
	assert_true(ada_timeline_next(timeline, &moment) && !moment.duration_known);
	assert_true(ada_timeline_next(timeline, &moment) && moment.duration_known);
	assert_int_equal(moment.duration_ns, 30);
	assert_int_equal(ada_timeline_completeness(timeline).lost, 0); /* of what was read so far */
	assert_true(ada_timeline_next(timeline, &moment) && !moment.duration_known);
	assert_int_equal(ada_timeline_completeness(timeline).lost, 6);
	assert_true(ada_timeline_next(timeline, &moment) && !moment.duration_known); /* across a loss: a guess */
	assert_false(ada_timeline_next(timeline, &moment));
	assert_false(ada_timeline_completeness(timeline).complete);
	ada_timeline_close(timeline);
	timeline = open_timeline(fixture, false);
	while (ada_timeline_next(timeline, &moment))
		assert_false(moment.duration_known);
	ada_timeline_close(timeline);
}

/* A call that never returned was open up to the process's end, also where only a part of the time is told. */
static void test_open_calls(void **state)
{
	struct fixture *fixture = *state;
	struct synth_thread *thread, *other;
	struct ada_timeline *timeline;
	struct ada_moment moment;

	synth_process(fixture->synth, 1);
	synth_module(fixture->synth, "/bin/prog", names, 2);
	thread = synth_thread(fixture->synth, 1, "t");
	other = synth_thread(fixture->synth, 2, "u");
	synth_call(thread, 0);
	synth_pass(thread, 5);
	synth_call(thread, 1);
	synth_pass(thread, 5);
	synth_return(thread);
	synth_call(thread, 1);
	synth_pass(other, 1000);
	synth_call(other, 1);
	synth_return(other);
	fixture_open(fixture, true, NULL, NULL, "+900ns");
	timeline = open_timeline(fixture, true);
	assert_true(ada_timeline_next(timeline, &moment) && moment.open);
	assert_int_equal(moment.duration_ns, SYNTH_END_NS - SYNTH_START_NS);
	assert_true(ada_timeline_next(timeline, &moment) && !moment.open && !moment.duration_known);
	assert_true(ada_timeline_next(timeline, &moment) && !moment.open && moment.duration_known);
	assert_true(ada_timeline_next(timeline, &moment) && moment.open && !moment.duration_known);
	assert_int_equal(moment.duration_ns, SYNTH_END_NS - SYNTH_START_NS - 10);
	assert_false(ada_timeline_next(timeline, &moment));
	ada_timeline_close(timeline);
	timeline = open_timeline(fixture, false);
	while (ada_timeline_next(timeline, &moment))
		assert_false(moment.open);
	ada_timeline_close(timeline);
}

static void test_end_of_a_call_begun_before(void **state)
{
	struct fixture *fixture = *state;
	struct synth_thread *thread;
	struct ada_timeline *timeline;
	struct ada_moment moment;

	synth_process(fixture->synth, 1);
	synth_module(fixture->synth, "/bin/prog", names, 2);
	thread = synth_thread(fixture->synth, 1, "t");
	synth_call(thread, 0);
	synth_pass(thread, 50);
	synth_return(thread);
	fixture_open(fixture, true, NULL, "+10ns", NULL);
	timeline = open_timeline(fixture, true);
	assert_true(ada_timeline_next(timeline, &moment));
	assert_int_equal(moment.event->event_kind, ADA_EVENT_RETURN);
	assert_false(moment.duration_known);
	assert_false(ada_timeline_next(timeline, &moment));
	ada_timeline_close(timeline);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(test_order_over_threads_and_processes),
		FIXTURE_TEST(test_durations),
		FIXTURE_TEST(test_open_calls),
		FIXTURE_TEST(test_end_of_a_call_begun_before),
	};

	return cmocka_run_group_tests_name("timeline", tests, NULL, NULL);
}
