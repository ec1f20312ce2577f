/* Whose end a join waits for: by the pointers of threads, which the manifest has. Times are in us of the session. */
#include "sql_fixture.h"

static const char *const names[] = { "main", "serve", "pthread_join", "usleep", "pthread_mutex_lock" };
enum { MAIN, SERVE, JOIN, USLEEP, LOCK, NAMES };
enum { X = 0x7f0010, Y = 0x7f0020, Z = 0x7f0030, A = 0xa000 };
#define MS 1000000ull

/* Threads 0, 1, ... of one process, which begin in main, with these pointers (0: the manifest doesn't say). */
static void make_threads(struct fixture *fixture, struct synth_thread **threads, const uint64_t *pointers, uint32_t count)
{
	threads[0] = fixture_thread(fixture, names, NAMES);
	for (uint32_t i = 1; i < count; i++)
		threads[i] = synth_thread(fixture->synth, 10 + i, "worker");
	for (uint32_t i = 0; i < count; i++) {
		if (pointers[i])
			synth_pointer(threads[i], pointers[i]);
		synth_call(threads[i], MAIN);
	}
}

static void begin_on(struct synth_thread *thread, uint64_t function, uint64_t object, uint32_t depth)
{
	synth_call(thread, function);
	synth_event(thread, ADA_EVENT_OBJECT, object, depth);
}

/* The thread sleeps for so long, returns from main and ends. */
static void sleep_and_end(struct synth_thread *thread, uint64_t ns)
{
	synth_leaf(thread, USLEEP, ns);
	synth_return(thread);
	synth_end(thread);
}

#define CAUSE "SELECT kind, function_waited, culprit_thread, culprit_path FROM causes(0, 1)"
#define JOINS "SELECT ended_by_thread, ended_by_index_seq, joined_thread FROM waits WHERE thread = 0 AND function = 'pthread_join'"

static void test_a_join_that_goes_on(void **state)
{
	struct synth_thread *threads[4];
	struct sql *sql;

	make_threads(*state, threads, (uint64_t[]){ A, X, Y, Z }, 4);
	for (int i = 1; i < 4; i++)
		synth_call(threads[i], USLEEP);
	synth_pass(threads[0], MS);
	begin_on(threads[0], JOIN, Y, 1);
	sql = sql_open(*state, true);
	sql_expect(sql, CAUSE, "condition|pthread_join|2|main > usleep\n");
	sql_expect(sql, JOINS, "-|-|2\n");
	sql_close(sql);
}

/* The next thread has the memory of the one that was joined before. */
static void test_a_pointer_that_is_used_again(void **state)
{
	struct synth_thread *threads[4];
	struct sql *sql;

	make_threads(*state, threads, (uint64_t[]){ A, X, X, Y }, 4);
	sleep_and_end(threads[1], MS);
	synth_pass(threads[2], 3 * MS);
	synth_pointer(threads[2], X);
	synth_call(threads[2], USLEEP);
	begin_on(threads[0], JOIN, X, 1);
	synth_pass(threads[0], 2 * MS);
	synth_return(threads[0]);
	synth_pass(threads[0], 2 * MS);
	begin_on(threads[0], JOIN, X, 1);
	sql = sql_open(*state, true);
	sql_expect(sql, JOINS " ORDER BY index_seq", "1|3|1\n-|-|2\n");
	sql_close(sql);
}

/* Its memory is another thread's by now, of which nothing was recorded: nobody is named. */
static void test_a_thread_that_nobody_recorded(void **state)
{
	struct synth_thread *threads[2];
	struct sql *sql;

	make_threads(*state, threads, (uint64_t[]){ A, X }, 2);
	sleep_and_end(threads[1], MS);
	synth_pass(threads[0], 2 * MS);
	begin_on(threads[0], JOIN, X, 1);
	sql = sql_open(*state, true);
	sql_expect(sql, CAUSE, "condition|pthread_join|-|-\n");
	sql_expect(sql, JOINS, "-|-|-\n");
	sql_close(sql);
}

/* Three end during the join, and no detail says anything. */
static void test_one_of_several_that_ended(void **state)
{
	struct synth_thread *threads[4];
	struct sql *sql;

	make_threads(*state, threads, (uint64_t[]){ A, X, Y, Z }, 4);
	for (unsigned i = 1; i < 4; i++)
		sleep_and_end(threads[i], i * 10 * MS);
	begin_on(threads[0], JOIN, Y, 1);
	synth_pass(threads[0], 40 * MS);
	synth_return(threads[0]);
	sql = sql_open(*state, true);
	sql_expect(sql, JOINS, "2|3|2\n");
	sql_expect(sql, CAUSE, "condition|pthread_join|2|main > usleep\n");
	sql_close(sql);
}

/* The only one that ended meanwhile is another than the one that was joined, which nobody recorded. */
static void test_who_ended_meanwhile_was_not_joined(void **state)
{
	struct synth_thread *threads[2];
	struct sql *sql;

	make_threads(*state, threads, (uint64_t[]){ A, X }, 2);
	sleep_and_end(threads[1], 10 * MS);
	begin_on(threads[0], JOIN, Y, 1);
	synth_pass(threads[0], 40 * MS);
	synth_return(threads[0]);
	sql = sql_open(*state, true);
	sql_expect(sql, JOINS, "-|-|-\n");
	sql_close(sql);
}

/* Sessions of older versions say no pointers. */
static void test_without_pointers(void **state)
{
	struct synth_thread *threads[2];
	struct sql *sql;

	make_threads(*state, threads, (uint64_t[]){ 0, 0 }, 2);
	synth_leaf(threads[1], USLEEP, 10 * MS);
	begin_on(threads[0], JOIN, Y, 1);
	synth_pass(threads[0], 40 * MS);
	synth_return(threads[0]);
	synth_pass(threads[0], MS);
	begin_on(threads[0], JOIN, Z, 1);
	sql = sql_open(*state, true);
	sql_expect(sql, JOINS " ORDER BY index_seq", "1|2|1\n-|-|-\n");
	sql_close(sql);
}

/* It had no event meanwhile, and ended all the same. */
static void test_a_thread_without_events_in_the_wait(void **state)
{
	struct synth_thread *threads[2];
	struct sql *sql;

	make_threads(*state, threads, (uint64_t[]){ A, X }, 2);
	synth_leaf(threads[1], USLEEP, MS);
	synth_return(threads[1]);
	synth_pass(threads[1], 30 * MS);
	synth_end(threads[1]);
	synth_pass(threads[0], 10 * MS);
	begin_on(threads[0], JOIN, X, 1);
	synth_pass(threads[0], 40 * MS);
	synth_return(threads[0]);
	sql = sql_open(*state, true);
	sql_expect(sql, JOINS, "-|-|1\n");
	sql_expect(sql, "SELECT kind, culprit_thread FROM causes(0, 1)", "condition|1\n");
	sql_close(sql);
}

/* Who holds a lock joins a thread that wants it; and three join each other. */
static void test_deadlocks(void **state)
{
	struct synth_thread *threads[6];
	struct sql *sql;

	make_threads(*state, threads, (uint64_t[]){ A, X, Y, Z, Z + 16, Z + 32 }, 6);
	begin_on(threads[1], LOCK, A, 1);
	synth_return(threads[1]);
	synth_pass(threads[1], MS);
	begin_on(threads[1], JOIN, Y, 1);
	synth_pass(threads[2], 2 * MS);
	begin_on(threads[2], LOCK, A, 1);
	for (unsigned i = 3; i < 6; i++)
		begin_on(threads[i], JOIN, Z + (i - 2) % 3 * 16, 1);
	begin_on(threads[0], JOIN, X, 1);
	sql = sql_open(*state, true);
	sql_expect(sql, "SELECT kind, function_waited, culprit_thread FROM causes(1, 4)", "deadlock|pthread_join|2\n");
	sql_expect(sql, "SELECT kind, function_waited, culprit_thread FROM causes(2, 1)", "deadlock|pthread_mutex_lock|1\n");
	sql_expect(sql, "SELECT kind, function_waited, culprit_thread FROM causes(4, 1)", "deadlock|pthread_join|5\n");
	sql_expect(sql, "SELECT kind, culprit_thread FROM causes(0, 1)", "deadlock|1\n");
	sql_close(sql);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(test_a_join_that_goes_on),
		FIXTURE_TEST(test_a_pointer_that_is_used_again),
		FIXTURE_TEST(test_a_thread_that_nobody_recorded),
		FIXTURE_TEST(test_one_of_several_that_ended),
		FIXTURE_TEST(test_who_ended_meanwhile_was_not_joined),
		FIXTURE_TEST(test_without_pointers),
		FIXTURE_TEST(test_a_thread_without_events_in_the_wait),
		FIXTURE_TEST(test_deadlocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
