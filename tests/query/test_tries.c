/* Attempts at a lock: which of them are a wait for who holds it, and which are not. */
#include "sql_fixture.h"

static const char *const names[] = { "main",
				     "serve",
				     "rebuild",
				     "other",
				     "pthread_mutex_lock",
				     "pthread_mutex_unlock",
				     "pthread_mutex_trylock",
				     "pthread_mutex_timedlock",
				     "usleep" };
enum { MAIN, SERVE, REBUILD, OTHER, LOCK, UNLOCK, TRYLOCK, TIMEDLOCK, USLEEP, NAMES };
enum { A = 0xa000, B = 0xb000 }; /* objects */

#define US 1000ull
#define MS (1000 * US)
#define COLUMNS "SELECT kind, function_waited, object, culprit_thread, culprit_path FROM "

/* Calls it at the depth at which the thread is. */
static void call_on(struct synth_thread *thread, uint64_t function, uint32_t depth, uint64_t object, uint64_t ns)
{
	synth_call(thread, function);
	synth_event(thread, ADA_EVENT_OBJECT, object, depth);
	synth_pass(thread, ns);
	synth_return(thread);
}

static void hold(struct synth_thread *thread, uint64_t object, uint64_t ns)
{
	synth_call(thread, REBUILD);
	call_on(thread, LOCK, 2, object, 0);
	synth_leaf(thread, USLEEP, ns);
	call_on(thread, UNLOCK, 2, object, 0);
	synth_return(thread);
}

/* A thread that begins while the second one holds A, for 50 ms, and a third one B. */
static struct synth_thread *begin(struct fixture *fixture)
{
	struct synth_thread *threads[3];

	fixture_threads(fixture, names, NAMES, threads, 3);
	hold(threads[1], A, 50 * MS);
	hold(threads[2], B, 50 * MS);
	synth_pass(threads[0], MS);
	return threads[0];
}

static void try_again_and_again(struct synth_thread *thread)
{
	synth_call(thread, SERVE);
	for (int i = 0; i < 490; i++) {
		call_on(thread, TRYLOCK, 2, A, 1 * US);
		synth_leaf(thread, OTHER, 99 * US);
	}
	call_on(thread, TRYLOCK, 2, A, 1 * US);
	call_on(thread, UNLOCK, 2, A, 0);
	synth_return(thread);
}

/* A loop of attempts is one wait, whatever the calls between. */
static void test_attempts_in_a_loop(void **state)
{
	struct sql *sql;

	try_again_and_again(begin(*state));
	sql = sql_open(*state, true);
	sql_expect(sql, COLUMNS "causes(0, 1)", "lock|pthread_mutex_trylock|0xa000|1|main > rebuild > usleep\n");
	sql_expect(sql, "SELECT spells FROM causes(0, 1)", "491\n");
	sql_close(sql);
}

/* One attempt waits for nobody: it was kept from its CPU, or met faults. With a time limit it waits. */
static void test_one_attempt_is_no_wait(void **state)
{
	struct synth_thread *thread = begin(*state);
	struct sql *sql;

	synth_call(thread, SERVE);
	call_on(thread, TRYLOCK, 2, A, 15 * MS);
	call_on(thread, TRYLOCK, 2, A, 14 * MS);
	synth_return(thread);
	call_on(thread, TIMEDLOCK, 1, A, 15 * MS);
	sql = sql_open(*state, true);
	sql_expect(sql, COLUMNS "causes(0, 1)", "unknown|pthread_mutex_trylock|-|-|-\n");
	sql_expect(sql, COLUMNS "causes(0, 2)", "unknown|pthread_mutex_trylock|-|-|-\n");
	sql_expect(sql, COLUMNS "causes(0, 9)", "lock|pthread_mutex_timedlock|0xa000|1|main > rebuild > usleep\n");
	sql_expect(sql, "SELECT function FROM waits WHERE thread = 0", "pthread_mutex_timedlock\n");
	sql_close(sql);
}

/* A signal handler tries another lock again and again while the thread waits: it is the thread's wait that counts. */
static void test_attempts_in_a_wait(void **state)
{
	struct synth_thread *thread = begin(*state);
	struct sql *sql;

	synth_call(thread, LOCK);
	synth_event(thread, ADA_EVENT_OBJECT, A, 1);
	for (int i = 0; i < 5; i++) {
		synth_call(thread, OTHER);
		call_on(thread, TRYLOCK, 3, B, 0);
		synth_pass(thread, 3 * MS);
		synth_return(thread);
		synth_pass(thread, 7 * MS);
	}
	synth_return(thread);
	sql = sql_open(*state, true);
	sql_expect(sql, COLUMNS "causes(0, 1)", "lock|pthread_mutex_lock|0xa000|1|main > rebuild > usleep\n");
	sql_close(sql);
}

/* What the session says when this function is left out of its recording. */
static void expect_without(struct fixture *fixture, uint64_t function, bool filtered, const char *expected)
{
	struct ada_muted muted = { .function_id = function, .filtered = filtered, .to_ns = UINT64_MAX };
	struct sql *sql;

	try_again_and_again(begin(fixture));
	sql = sql_open(fixture, true);
	assert_int_equal(ada_array_push(&fixture->session->processes.items[0]->mutes.all, muted), 0);
	sql_expect(sql, "SELECT kind, culprit_thread FROM causes(0, 1)", expected);
	sql_close(sql);
}

/* Handlers may try in the midst of waits that are left out. */
static void test_attempts_while_waits_are_left_out(void **state)
{
	expect_without(*state, USLEEP, false, "cpu|0\n");
}

static void test_attempts_while_others_are_left_out(void **state)
{
	expect_without(*state, OTHER, false, "lock|1\n");
}

static void test_attempts_while_locks_are_filtered(void **state)
{
	expect_without(*state, LOCK, true, "lock|1\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(test_attempts_in_a_loop),
		FIXTURE_TEST(test_one_attempt_is_no_wait),
		FIXTURE_TEST(test_attempts_in_a_wait),
		FIXTURE_TEST(test_attempts_while_waits_are_left_out),
		FIXTURE_TEST(test_attempts_while_others_are_left_out),
		FIXTURE_TEST(test_attempts_while_locks_are_filtered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
