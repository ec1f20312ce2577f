/* Statistics of sessions whose answers are known by construction. */
#include "fixture.h"

static const char *const names[] = { "main", "fib", "leaf", "open" };
enum { MAIN, FIB, LEAF, OPEN, NAMES };

static struct synth_thread *one_thread(struct fixture *fixture)
{
	synth_process(fixture->synth, 10);
	synth_module(fixture->synth, "/bin/prog", names, NAMES);
	return synth_thread(fixture->synth, 10, "prog");
}

/* Each call takes 1 ns of its own before and after those below it. Returns how many calls that makes. */
static uint64_t fib(struct synth_thread *thread, int n)
{
	uint64_t calls = 1;

	synth_call(thread, FIB);
	synth_pass(thread, 1);
	if (n >= 2)
		calls += fib(thread, n - 1) + fib(thread, n - 2);
	synth_pass(thread, 1);
	synth_return(thread);
	return calls;
}

static void test_recursion_counts_once(void **state)
{
	struct fixture *fixture = *state;
	struct synth_thread *thread = one_thread(fixture);
	const struct ada_function_stats *function;
	uint64_t calls;

	synth_call(thread, MAIN);
	calls = fib(thread, 12);
	synth_pass(thread, 7);
	synth_return(thread);
	fixture_open(fixture, true, NULL, NULL, NULL);
	fixture_compute(fixture);
	function = fixture_function(fixture, "fib");
	assert_int_equal(function->calls, calls);
	assert_int_equal(function->total_ns, 2 * calls); /* of the outermost: all the time below it */
	assert_int_equal(function->self_ns, 2 * calls);
	assert_int_equal(function->durations.min, 2);
	assert_int_equal(function->durations.max, 2 * calls);
	assert_int_equal(fixture_function(fixture, "main")->total_ns, 2 * calls + 7);
	assert_int_equal(fixture_function(fixture, "main")->self_ns, 7);
	assert_int_equal(fixture->stats.completeness.events, 2 * calls + 2);
	assert_true(fixture->stats.completeness.complete);
}

static void descend(struct synth_thread *thread, unsigned int calls)
{
	while (calls--) {
		synth_call(thread, FIB);
		synth_pass(thread, 1);
	}
}

/* Each call has a leaf of 3 ns before it ends, and so takes 5 ns more than the one below. */
static void ascend(struct synth_thread *thread, unsigned int calls)
{
	while (calls--) {
		synth_leaf(thread, LEAF, 3);
		synth_pass(thread, 1);
		synth_return(thread);
	}
}

static void check_deep(struct fixture *fixture)
{
	const struct ada_function_stats *function = fixture_function(fixture, "fib"), *leaf = fixture_function(fixture, "leaf");

	assert_int_equal(function->calls, 16000);
	assert_int_equal(function->total_ns, 16000 * 5);
	assert_int_equal(function->self_ns, 16000 * 2);
	assert_int_equal(function->durations.min, 5);
	assert_int_equal(function->durations.max, 16000 * 5);
	/* Twice those of the 6,000 innermost; then 4,000 around both. */
	assert_int_equal(function->durations.sum, 2 * 5 * 6000 * 6001ull / 2 + 4000 * 60000ull + 5 * 4000 * 4001ull / 2);
	assert_int_equal(leaf->calls, 16000);
	assert_int_equal(leaf->self_ns, 16000 * 3);
	assert_int_equal(fixture_function(fixture, "main")->total_ns, 16000 * 5);
	assert_int_equal(fixture_function(fixture, "main")->self_ns, 0);
}

/* More calls are open than are kept at hand (tally_quick.c). */
static void test_deep_down_and_up(void **state)
{
	struct fixture *fixture = *state;
	struct synth_thread *thread = one_thread(fixture);
	struct ada_error error = {};

	synth_call(thread, MAIN);
	descend(thread, 10000);
	ascend(thread, 6000);
	descend(thread, 6000);
	ascend(thread, 10000);
	synth_return(thread);
	fixture_open(fixture, true, NULL, NULL, NULL);
	fixture_compute(fixture);
	check_deep(fixture);
	ada_stats_free(&fixture->stats);
	assert_int_equal(ada_stats_compute_pieces(&fixture->stats, &fixture->selection, 2, 7000, &error), 0);
	check_deep(fixture);
}

static void test_threads_add_up(void **state)
{
	struct fixture *fixture = *state;
	const struct ada_function_stats *leaf;

	synth_process(fixture->synth, 10);
	synth_module(fixture->synth, "/bin/prog", names, NAMES);
	for (uint32_t i = 0; i < 64; i++) {
		struct synth_thread *thread = synth_thread(fixture->synth, 100 + i, "worker");

		synth_call(thread, MAIN);
		for (uint32_t j = 0; j <= i; j++) {
			synth_call(thread, LEAF);
			synth_pass(thread, 1000 + j);
			synth_return(thread);
		}
		synth_return(thread);
	}
	fixture_open(fixture, true, NULL, NULL, NULL);
	fixture_compute(fixture);
	leaf = fixture_function(fixture, "leaf");
	assert_int_equal(leaf->calls, 64 * 65 / 2);
	assert_int_equal(leaf->durations.min, 1000);
	assert_int_equal(leaf->durations.max, 1063);
	/* sum over i of (i + 1) * 1000 + i (i + 1) / 2 */
	assert_int_equal(leaf->total_ns, 64 * 65 / 2 * 1000 + 43680);
	assert_int_equal(fixture_function(fixture, "main")->total_ns, leaf->total_ns);
	assert_int_equal(fixture_function(fixture, "main")->self_ns, 0);
	assert_int_equal(fixture->stats.completeness.events, 64 * 65 + 128);
}

static void test_processes_share_functions(void **state)
{
	struct fixture *fixture = *state;

	for (uint32_t i = 0; i < 3; i++) {
		struct synth_thread *thread;

		synth_process(fixture->synth, i < 2 ? 10 + i : 10); /* the last is an exec'd image of the first */
		synth_module(fixture->synth, "/bin/prog", names, NAMES);
		thread = synth_thread(fixture->synth, 10 + i, "prog");
		synth_call(thread, LEAF);
		synth_pass(thread, 10);
		synth_return(thread);
	}
	fixture_open(fixture, true, NULL, NULL, NULL);
	assert_int_equal(fixture->session->processes.count, 3);
	assert_int_equal(fixture->session->modules.count, 1);
	fixture_compute(fixture);
	assert_int_equal(fixture->stats.functions.count, 1);
	assert_int_equal(fixture_function(fixture, "leaf")->calls, 3);
	assert_int_equal(fixture_function(fixture, "leaf")->total_ns, 30);
}

static void test_open_calls_last_to_the_end(void **state)
{
	struct fixture *fixture = *state;
	struct synth_thread *thread = one_thread(fixture);

	synth_call(thread, OPEN);
	synth_pass(thread, 5);
	synth_call(thread, LEAF);
	synth_pass(thread, 20);
	synth_return(thread);
	fixture_open(fixture, false, NULL, NULL, NULL);
	fixture_compute(fixture);
	assert_int_equal(fixture_function(fixture, "open")->calls, 1);
	assert_int_equal(fixture_function(fixture, "open")->total_ns, 25);
	assert_int_equal(fixture_function(fixture, "open")->self_ns, 5);
	/* Still being recorded: what was lost isn't known to be nothing. */
	assert_false(fixture->stats.completeness.complete);
	assert_int_equal(fixture->stats.completeness.lost, 0);
}

static void test_losses_are_no_durations(void **state)
{
	struct fixture *fixture = *state;
	struct synth_thread *thread = one_thread(fixture);
	const struct ada_function_stats *leaf;

	synth_call(thread, MAIN);
	synth_call(thread, LEAF);
	synth_pass(thread, 1000000);
	synth_lost(thread, 41, 1);
	synth_call(thread, LEAF);
	synth_pass(thread, 3);
	synth_exception(thread);
	synth_return(thread);
	fixture_open(fixture, true, NULL, NULL, NULL);
	fixture_compute(fixture);
	leaf = fixture_function(fixture, "leaf");
	assert_int_equal(leaf->calls, 2);
	assert_int_equal(leaf->unknown, 1);
	assert_int_equal(leaf->total_ns, 3);
	assert_int_equal(leaf->durations.max, 3);
	/* main was there all the time, as far as one can tell; what the lost leaf took was not main's own. */
	assert_int_equal(fixture_function(fixture, "main")->total_ns, 1000003);
	assert_int_equal(fixture_function(fixture, "main")->self_ns, 0);
	assert_int_equal(fixture_function(fixture, "main")->durations.count, 0);
	assert_int_equal(fixture->stats.completeness.lost, 41);
	assert_false(fixture->stats.completeness.complete);
}

static void test_time_range(void **state)
{
	struct fixture *fixture = *state;
	struct synth_thread *thread = one_thread(fixture);

	/* leaf at +0, +100, ... +900, for 60 ns each */
	for (int i = 0; i < 10; i++) {
		synth_call(thread, LEAF);
		synth_pass(thread, 60);
		synth_return(thread);
		synth_pass(thread, 40);
	}
	fixture_open(fixture, true, NULL, "+150ns", "+401ns");
	fixture_compute(fixture);
	/* Those that begin at 200, 300 and 400; the last one ends behind the range and counts whole. */
	assert_int_equal(fixture_function(fixture, "leaf")->calls, 3);
	assert_int_equal(fixture_function(fixture, "leaf")->total_ns, 180);
	/* Events in the range: return at 160, 200 260, 300 360, 400 */
	assert_int_equal(fixture->stats.completeness.events, 6);
}

static void test_one_thread_of_two(void **state)
{
	struct fixture *fixture = *state;
	struct synth_thread *thread = one_thread(fixture), *other = synth_thread(fixture->synth, 11, "other");

	synth_call(thread, MAIN);
	synth_lost(thread, 3, 0);
	synth_call(other, LEAF);
	synth_pass(other, 8);
	synth_return(other);
	fixture_open(fixture, true, "other", NULL, NULL);
	fixture_compute(fixture);
	assert_int_equal(fixture->stats.functions.count, 1);
	assert_int_equal(fixture_function(fixture, "leaf")->total_ns, 8);
	assert_int_equal(fixture->stats.completeness.lost, 0); /* the other thread's loss is not in what this covers */
	assert_true(fixture->stats.completeness.complete);
}

static void test_nothing(void **state)
{
	struct fixture *fixture = *state;

	fixture_open(fixture, true, NULL, NULL, NULL);
	fixture_compute(fixture);
	assert_int_equal(fixture->stats.functions.count, 0);
	assert_int_equal(fixture->stats.completeness.events, 0);
}

static void test_deep_recursion(void **state)
{
	struct fixture *fixture = *state;
	struct synth_thread *thread = one_thread(fixture);

	for (int i = 0; i < 100000; i++)
		synth_call(thread, FIB);
	synth_pass(thread, 9);
	for (int i = 0; i < 100000; i++)
		synth_return(thread);
	fixture_open(fixture, true, NULL, NULL, NULL);
	fixture_compute(fixture);
	assert_int_equal(fixture_function(fixture, "fib")->calls, 100000);
	assert_int_equal(fixture_function(fixture, "fib")->total_ns, 9);
	assert_int_equal(fixture_function(fixture, "fib")->self_ns, 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(test_recursion_counts_once),
		FIXTURE_TEST(test_deep_down_and_up),
		FIXTURE_TEST(test_threads_add_up),
		FIXTURE_TEST(test_processes_share_functions),
		FIXTURE_TEST(test_open_calls_last_to_the_end),
		FIXTURE_TEST(test_losses_are_no_durations),
		FIXTURE_TEST(test_time_range),
		FIXTURE_TEST(test_one_thread_of_two),
		FIXTURE_TEST(test_nothing),
		FIXTURE_TEST(test_deep_recursion),
	};

	return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}
