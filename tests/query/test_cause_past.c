/* What lies before a wait, or beside it, and has nothing to do with it: threads that are over, and millions of events on other objects. Nobody
 * is named for them, and they are not read. */
#include <stdio.h>
#include "query/cause/internal.h"
#include "sql_fixture.h"

static const char *const names[] = { "main",
				     "rebuild",
				     "compact",
				     "other",
				     "pthread_mutex_unlock",
				     "usleep",
				     "pthread_once",
				     "pthread_cond_wait",
				     "pthread_cond_signal",
				     "malloc" };
enum { MAIN, REBUILD, COMPACT, OTHER, UNLOCK, USLEEP, ONCE, COND_WAIT, COND_SIGNAL, MALLOC, NAMES };
enum { A = 0xa000, B = 0xb000, C = 0xc000, M = 0xe000 }; /* objects */

/* Threads 0, 1, ... of one process, each of which begins in main. */
static void make_threads(struct fixture *fixture, struct synth_thread **threads, uint32_t count)
{
	fixture_threads(fixture, names, NAMES, threads, count);
}

static void begin_on(struct synth_thread *thread, uint64_t function, uint64_t object)
{
	synth_call(thread, function);
	synth_event(thread, ADA_EVENT_OBJECT, object, 1);
}

static void call_on(struct synth_thread *thread, uint64_t function, uint64_t object, uint64_t us)
{
	begin_on(thread, function, object);
	synth_pass(thread, us * 1000);
	synth_return(thread);
}

static void expect(struct fixture *fixture, const char *statement, const char *expected)
{
	struct sql *sql = sql_open(fixture, true);

	sql_expect(sql, statement, expected);
	sql_close(sql);
}

/* Whoever signalled is found far behind millions of calls that lock other objects, without reading these. */
static void test_a_lost_wake_up_long_ago(void **state)
{
	struct fixture *fixture = *state;
	struct synth_thread *threads[2];
	struct ada_cause_reader *reader;
	struct ada_cause cause;

	make_threads(fixture, threads, 2);
	call_on(threads[1], COND_SIGNAL, C, 0);
	for (uint64_t i = 0; i < 1000000; i++) {
		synth_leaf(threads[1], COMPACT, 1 * 1000ull);
		if (i % 10 == 0)
			call_on(threads[1], UNLOCK, A + i / 10 % 32 * 40, 0);
	}
	synth_pass(threads[0], 2000000 * 1000ull);
	begin_on(threads[0], COND_WAIT, C);
	synth_event(threads[0], ADA_EVENT_OBJECT, M, 1);
	synth_pass(threads[1], 3000000 * 1000ull);
	synth_leaf(threads[1], USLEEP, 1 * 1000ull);
	fixture_open(fixture, true, NULL, NULL, NULL);
	reader = ada_cause_reader_open(fixture->session);
	assert_int_equal(ada_cause_find(reader, &fixture->session->threads.items[0], 1, &cause), 0);
	assert_true(cause.links.items[0].came_before && cause.links.items[0].culprit->number == 1);
	assert_int_equal(cause.links.items[0].culprit_first, 1);
	assert_true(ADA_CAUSE_BUDGET - reader->budget < 500000);
	ada_cause_free(&cause);
	ada_cause_reader_close(reader);
}

/* Whoever rests elsewhere, or is over, is in nobody's way: whatever it was in last. */
static void test_arenas_of_nobody(void **state)
{
	struct synth_thread *threads[4];

	make_threads(*state, threads, 4);
	synth_call(threads[1], MALLOC);
	synth_end(threads[1]);
	synth_leaf(threads[2], MALLOC, 1000 * 1000ull);
	synth_call(threads[2], USLEEP);
	synth_call(threads[3], MALLOC);
	synth_call(threads[3], OTHER);
	synth_pass(threads[0], 2000 * 1000);
	synth_leaf(threads[0], MALLOC, 30000 * 1000ull);
	expect(*state, "SELECT kind, function_waited, culprit_thread FROM causes(0, 1)", "unknown|malloc|-\n");
}

/* One that is in the allocator without an event of its own. */
static void test_an_arena_held_throughout(void **state)
{
	struct synth_thread *threads[2];

	make_threads(*state, threads, 2);
	synth_call(threads[1], MALLOC);
	synth_pass(threads[0], 2000 * 1000);
	synth_leaf(threads[0], MALLOC, 30000 * 1000ull);
	expect(*state, "SELECT kind, function_waited, culprit_thread FROM causes(0, 1)", "lock|malloc|-\n");
}

/* One that is over initialises nothing, whatever it was in last; whoever runs the initialiser waits for nobody. */
static void test_an_initialiser_of_ones_own(void **state)
{
	struct synth_thread *threads[3];

	make_threads(*state, threads, 3);
	begin_on(threads[1], ONCE, A);
	synth_call(threads[1], OTHER);
	synth_end(threads[1]);
	begin_on(threads[2], ONCE, B); /* waits, and a signal handler runs there */
	synth_call(threads[2], OTHER);
	synth_pass(threads[0], 2000 * 1000);
	call_on(threads[0], ONCE, A, 30000);
	begin_on(threads[0], ONCE, B);
	synth_call(threads[0], REBUILD);
	synth_pass(threads[0], 30000 * 1000);
	synth_return(threads[0]);
	synth_return(threads[0]);
	expect(*state, "SELECT thread, kind, ended_by_thread FROM waits", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(test_a_lost_wake_up_long_ago),
		FIXTURE_TEST(test_arenas_of_nobody),
		FIXTURE_TEST(test_an_arena_held_throughout),
		FIXTURE_TEST(test_an_initialiser_of_ones_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
