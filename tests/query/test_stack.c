/* Open calls found backwards, against those that pairing from the beginning leaves open. */
#include "fixture.h"
#include "query/calls/calls.h"
#include "query/calls/stack.h"
#include "synth_random.h"

/* Of a thread with few events nothing is left to read. */
static void expect_all_at_the_end(const struct ada_thread *thread)
{
	struct ada_stack stack, end;
	uint32_t depth;

	assert_int_equal(ada_stack_at(&stack, thread, thread->count), 0);
	assert_int_equal(ada_stack_at_end(&end, thread, &depth), 0);
	assert_int_equal(depth, 0);
	assert_int_equal(end.frames.count, stack.frames.count);
	for (size_t i = 0; i < stack.frames.count; i++)
		assert_int_equal(end.frames.items[i].position, stack.frames.items[i].position);
	ada_stack_close(&stack);
	ada_stack_close(&end);
}

/* At each position, before its event. */
static void check_thread(const struct ada_thread *thread, uint64_t step)
{
	struct ada_calls calls;

	ada_calls_open(&calls, &(struct ada_calls_receiver){});
	for (uint64_t position = 0; position <= thread->count; position++) {
		const struct ada_event *event = position < thread->count ? atf_thread_get(thread->events, position) : NULL;
		size_t count = calls.stack.count;
		struct ada_stack stack;

		/* A call shows which have left without a word before it begins. */
		while (event && event->event_kind == ADA_EVENT_CALL && count && calls.stack.items[count - 1].depth >= event->call_depth)
			count--;
		if (position % step == 0 || !event) {
			assert_int_equal(ada_stack_at(&stack, thread, position), 0);
			assert_int_equal(stack.frames.count, count);
			for (size_t i = 0; i < count; i++) {
				assert_int_equal(stack.frames.items[i].position, calls.stack.items[i].position);
				assert_int_equal(stack.frames.items[i].function_id, calls.stack.items[i].function_id);
				assert_int_equal(stack.frames.items[i].start_ns, calls.stack.items[i].start_ns);
				assert_int_equal(stack.frames.items[i].depth, calls.stack.items[i].depth);
			}
			ada_stack_close(&stack);
		}
		if (event)
			assert_int_equal(ada_calls_feed(&calls, event, position), 0);
	}
	expect_all_at_the_end(thread);
	ada_calls_end(&calls, 0);
	ada_calls_close(&calls);
}

static void test_random_sessions(void **state)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct fixture *fixture;

		fixture_setup(state);
		fixture = *state;
		known_free(synth_random(fixture->synth, seed, 1 + seed % 3, 100 * seed));
		fixture_open(fixture, true, NULL, NULL, NULL);
		for (size_t i = 0; i < fixture->session->threads.count; i++)
			check_thread(&fixture->session->threads.items[i], 1);
		fixture_pack(fixture, 200);
		for (size_t i = 0; i < fixture->session->threads.count; i++)
			check_thread(&fixture->session->threads.items[i], 1);
		fixture_teardown(state);
	}
}

/* Frames that leave without a word, in one segment and over its end; and a call that shows it. */
static void test_frames_that_left(void **state)
{
	static const char *const names[] = { "main", "a", "b" };
	struct fixture *fixture = *state;
	struct synth_thread *thread;
	struct ada_stack stack;

	synth_process(fixture->synth, 1);
	synth_module(fixture->synth, "/bin/prog", names, 3);
	thread = synth_thread(fixture->synth, 1, "prog");
	synth_event(thread, ADA_EVENT_CALL, 0, 0);
	synth_event(thread, ADA_EVENT_CALL, 1, 1);
	synth_event(thread, ADA_EVENT_CALL, 2, 2);
	synth_roll(thread);
	synth_event(thread, ADA_EVENT_CALL, 2, 1); /* position 3: both above main are gone */
	synth_event(thread, ADA_EVENT_RETURN, 2, 1);
	synth_event(thread, 77, 2, 0); /* a kind that means nothing */
	fixture_open(fixture, true, NULL, NULL, NULL);
	check_thread(&fixture->session->threads.items[0], 1);
	assert_int_equal(ada_stack_at(&stack, &fixture->session->threads.items[0], 3), 0);
	assert_int_equal(stack.frames.count, 1);
	ada_stack_close(&stack);
	assert_int_equal(ada_stack_at(&stack, &fixture->session->threads.items[0], 4), 0);
	assert_int_equal(stack.frames.count, 2);
	assert_int_equal(stack.frames.items[1].function_id, 2);
	assert_int_equal(stack.frames.items[1].position, 3);
	ada_stack_close(&stack);
	fixture_pack(fixture, 1);
	check_thread(&fixture->session->threads.items[0], 1);
}

static void test_nothing_is_open(void **state)
{
	static const char *const names[] = { "main" };
	struct fixture *fixture = *state;
	struct ada_stack stack;

	synth_process(fixture->synth, 1);
	synth_module(fixture->synth, "/bin/prog", names, 1);
	synth_thread(fixture->synth, 1, "prog");
	fixture_open(fixture, true, NULL, NULL, NULL);
	assert_int_equal(ada_stack_at(&stack, &fixture->session->threads.items[0], 0), 0);
	assert_int_equal(stack.frames.count, 0);
	ada_stack_close(&stack);
}

/* Whoever opens the session again has what was learnt of it; not where the thread is another one. */
static void expect_adopted(struct ada_session *session)
{
	const struct ada_thread *before = &session->threads.items[0];
	struct ada_error error = { "" };
	struct ada_session *again;
	uint64_t learnt = 0;

	for (int other = 1; other >= 0; other--) {
		assert_int_equal(ada_session_open(&again, session->path, &error), 0);
		again->threads.items[0].tid += (uint32_t)other;
		ada_session_adopt(again, session);
		for (uint64_t i = 0; i < before->count / ADA_FLOOR_EVENTS; i++) {
			assert_int_equal(again->threads.items[0].floors[i].depth, other ? 0 : before->floors[i].depth);
			learnt += before->floors[i].depth != 0;
		}
		ada_session_close(again);
	}
	assert_true(learnt > 0);
}

/* Deeper than one release of pages is long: the outermost call lies a million events back. */
static void test_far_back(void **state)
{
	static const char *const names[] = { "main", "leaf" };
	struct fixture *fixture = *state;
	struct synth_thread *thread;
	struct ada_stack stack;
	uint32_t depth;

	synth_process(fixture->synth, 1);
	synth_module(fixture->synth, "/bin/prog", names, 2);
	thread = synth_thread(fixture->synth, 1, "prog");
	synth_call(thread, 0);
	for (unsigned int i = 0; i < 400000; i++) {
		synth_call(thread, 1);
		synth_return(thread);
	}
	fixture_open(fixture, false, NULL, NULL, NULL);
	assert_int_equal(ada_stack_at(&stack, &fixture->session->threads.items[0], 800001), 0);
	assert_int_equal(stack.frames.count, 1);
	assert_int_equal(stack.frames.items[0].position, 0);
	ada_stack_close(&stack);
	expect_adopted(fixture->session);
	/* The last events say that no leaf is open, and of main nothing. */
	assert_int_equal(ada_stack_at_end(&stack, &fixture->session->threads.items[0], &depth), 0);
	assert_int_equal(depth, 1);
	assert_int_equal(stack.frames.count, 0);
	ada_stack_close(&stack);
	assert_int_equal(ada_stack_at(&stack, &fixture->session->threads.items[0], 800000), 0);
	assert_int_equal(stack.frames.count, 2);
	ada_stack_close(&stack);
}

static void expect_open(const struct ada_thread *thread, uint64_t position, size_t count, const uint64_t *positions)
{
	struct ada_stack stack;

	assert_int_equal(ada_stack_at(&stack, thread, position), 0);
	assert_int_equal(stack.frames.count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(stack.frames.items[i].position, positions[i]);
	ada_stack_close(&stack);
}

/* Blocks that lie deeper than all that is asked for are passed over: none that begins an open call, in whichever order it is asked, and
 * wherever segments end. */
static void test_blocks_are_passed_over(void **state)
{
	static const char *const names[] = { "main", "outer", "loop", "leaf" };
	struct fixture *fixture = *state;
	const struct ada_thread *read;
	struct synth_thread *thread;
	uint64_t outer, loop, last;

	thread = fixture_thread(fixture, names, 4);
	synth_call(thread, 0);
	for (unsigned int i = 0; i < 500000; i++) { /* of outer's depth */
		synth_leaf(thread, 3, 1);
		if (i == 150000)
			synth_roll(thread);
	}
	outer = 1000001;
	synth_call(thread, 1);
	synth_leaf(thread, 3, 1);
	loop = outer + 3;
	synth_call(thread, 2);
	for (unsigned int i = 0; i < 1000000; i++)
		synth_leaf(thread, 3, 1);
	last = loop + 1 + 2000000;
	fixture_open(fixture, false, NULL, NULL, NULL);
	read = &fixture->session->threads.items[0];
	for (unsigned int round = 0; round < 2; round++) { /* the second time all is known */
		expect_open(read, last, 3, (const uint64_t[]){ 0, outer, loop });
		expect_open(read, last - 1, 4, (const uint64_t[]){ 0, outer, loop, last - 2 });
		expect_open(read, loop, 2, (const uint64_t[]){ 0, outer });
		expect_open(read, outer, 1, (const uint64_t[]){ 0 });
		expect_open(read, outer - 1, 2, (const uint64_t[]){ 0, outer - 2 });
	}
}

/* Read back no further than to a floor: what is found is right, and what isn't is said to be missing. */
static void test_a_floor(void **state)
{
	static const char *const names[] = { "main", "a", "b" };
	struct fixture *fixture = *state;
	struct synth_thread *thread = fixture_thread(fixture, names, 3);
	const struct ada_frame *frame;
	const struct ada_thread *read;
	struct ada_lookback back;

	synth_call(thread, 0);
	for (int i = 0; i < 10; i++)
		synth_leaf(thread, 1, 5);
	synth_call(thread, 2); /* position 21 */
	fixture_open(fixture, true, NULL, NULL, NULL);
	read = &fixture->session->threads.items[0];
	for (uint64_t floor = 0; floor <= 21; floor++) {
		ada_lookback_open(&back, read, 22);
		back.floor = floor;
		assert_int_equal(ada_lookback_get(&back, 0, &frame), 0);
		assert_true(frame && frame->position == 21 && !back.gave_up);
		assert_int_equal(ada_lookback_get(&back, 1, &frame), 0);
		assert_true(floor ? !frame && back.gave_up : frame && !frame->position && !back.gave_up);
		ada_lookback_close(&back);
		ada_lookback_open(&back, read, 21);
		back.floor = floor;
		assert_int_equal(ada_lookback_get(&back, 0, &frame), 0);
		assert_true(floor ? !frame && back.gave_up : frame && !frame->position);
		ada_lookback_close(&back);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(test_a_floor),	     cmocka_unit_test(test_random_sessions),
		FIXTURE_TEST(test_frames_that_left), FIXTURE_TEST(test_nothing_is_open),
		FIXTURE_TEST(test_far_back),	     FIXTURE_TEST(test_blocks_are_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
