/* src/cli/tui/walk.c: the calls of a thread as rows, some of them folded. */
#include "cli/tui/walk.h"
#include "fixture.h"

static const char *const names[] = { "main", "a", "b" };

/* main 0 { a 1 { b 2 } 3..4; lost 5..; a { b } } */
static struct ada_walk open_nested(struct fixture *fixture, bool packed)
{
	struct synth_thread *thread = fixture_thread(fixture, names, 3);

	synth_call(thread, 0); /* 0 */
	synth_pass(thread, 10);
	synth_call(thread, 1);	  /* 1 */
	synth_leaf(thread, 2, 5); /* 2, 3 */
	synth_return(thread);	  /* 4 */
	synth_lost(thread, 7, 1); /* 5 */
	synth_pass(thread, 100);
	synth_call(thread, 1);	  /* 6 */
	synth_leaf(thread, 2, 5); /* 7, 8 */
	synth_leaf(thread, 2, 5); /* 9, 10 */
	synth_return(thread);	  /* 11 */
	synth_return(thread);	  /* 12 */
	synth_leaf(thread, 1, 1); /* 13, 14 */
	fixture_open(fixture, true, NULL, NULL, NULL);
	if (packed)
		fixture_pack(fixture, 3);
	return (struct ada_walk){ .thread = &fixture->session->threads.items[0] };
}

static void expect_rows(const struct ada_walk *walk, const uint64_t *rows, size_t count)
{
	uint64_t position = 0;

	for (size_t i = 0; i < count; i++, position++) {
		assert_true(ada_walk_at_or_behind(walk, &position));
		assert_int_equal(position, rows[i]);
	}
	assert_false(ada_walk_at_or_behind(walk, &position));
	position = UINT64_MAX;
	for (size_t i = count; i-- > 0;) {
		assert_true(ada_walk_before(walk, &position));
		assert_int_equal(position, rows[i]);
	}
	assert_false(ada_walk_before(walk, &position));
	assert_int_equal(position, rows[0]);
}

#define ROWS(walk, ...) expect_rows(walk, (const uint64_t[]){ __VA_ARGS__ }, sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static void test_folds(void **state)
{
	for (int packed = 0; packed < 2; packed++) {
		struct ada_walk walk;

		if (packed)
			fixture_setup(state);
		walk = open_nested(*state, packed);
		ROWS(&walk, 0, 1, 2, 5, 6, 7, 9, 13);
		assert_int_equal(ada_walk_fold(&walk, 6), 0);
		ROWS(&walk, 0, 1, 2, 5, 6, 13);
		assert_true(ada_walk_is_folded(&walk, 6));
		assert_int_equal(ada_walk_fold(&walk, 1), 0);
		ROWS(&walk, 0, 1, 5, 6, 13);
		assert_int_equal(ada_walk_fold(&walk, 0), 0);
		ROWS(&walk, 0, 13);
		ada_walk_reveal(&walk, 7);
		ROWS(&walk, 0, 1, 5, 6, 7, 9, 13);
		assert_int_equal(ada_walk_fold(&walk, 1), 0);
		assert_false(ada_walk_is_folded(&walk, 1));
		assert_int_equal(ada_walk_fold(&walk, 5), 0); /* a loss has nothing to fold */
		ROWS(&walk, 0, 1, 2, 5, 6, 7, 9, 13);
		ada_walk_close(&walk);
		if (!packed)
			fixture_teardown(state);
	}
}

static void test_ends(void **state)
{
	struct ada_walk walk = open_nested(*state, false);
	uint64_t end, duration_ns;

	assert_int_equal(ada_walk_duration(walk.thread, 2, 100, &end, &duration_ns), ADA_WALK_ENDS);
	assert_int_equal(end, 3);
	assert_int_equal(duration_ns, 5);
	assert_int_equal(ada_walk_duration(walk.thread, 0, 100, &end, &duration_ns), ADA_WALK_ENDS);
	assert_int_equal(end, 12);
	assert_int_equal(duration_ns, 125);
	assert_int_equal(ada_walk_duration(walk.thread, 0, 4, &end, &duration_ns), ADA_WALK_FARTHER);
	assert_int_equal(end, 5);
}

/* One call that is left without a word, one that is still open, and one that waited for ada. */
static void test_odd_ends(void **state)
{
	struct fixture *fixture = *state;
	struct synth_thread *thread = fixture_thread(fixture, names, 3);
	const struct ada_thread *read;
	uint64_t end, duration_ns;

	synth_event(thread, ADA_EVENT_CALL, 0, 0);
	synth_event(thread, ADA_EVENT_CALL, 1, 1);
	synth_event(thread, ADA_EVENT_CALL, 2, 1);
	synth_pass(thread, 100);
	synth_event(thread, ADA_EVENT_RECORDER, 60, 2);
	synth_event(thread, ADA_EVENT_RETURN, 2, 1);
	fixture_open(fixture, true, NULL, NULL, NULL);
	read = &fixture->session->threads.items[0];
	assert_int_equal(ada_walk_duration(read, 0, 100, &end, &duration_ns), ADA_WALK_GOES_ON);
	assert_int_equal(ada_walk_duration(read, 1, 100, &end, &duration_ns), ADA_WALK_UNKNOWN);
	assert_int_equal(end, 2);
	assert_int_equal(ada_walk_duration(read, 2, 100, &end, &duration_ns), ADA_WALK_ENDS);
	assert_int_equal(duration_ns, 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(test_folds),
		FIXTURE_TEST(test_ends),
		FIXTURE_TEST(test_odd_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
