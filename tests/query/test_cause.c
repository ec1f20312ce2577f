/* Causes and waits of recordings that are known event by event: who is named, and that nobody else is. Times are in us of the session. */
#include <stdio.h>
#include <stdlib.h>
#include "query/cause/cause.h"
#include "sql_fixture.h"

static const char *const names[] = { "main",
				     "serve",
				     "rebuild",
				     "compact",
				     "other",
				     "pthread_mutex_lock",
				     "pthread_mutex_unlock",
				     "usleep",
				     "pthread_cond_wait",
				     "pthread_cond_signal",
				     "pthread_mutex_trylock",
				     "pthread_rwlock_rdlock",
				     "pthread_rwlock_wrlock",
				     "pthread_rwlock_unlock",
				     "sem_wait",
				     "sem_post",
				     "pthread_join",
				     "malloc",
				     "read",
				     "pthread_mutex_timedlock",
				     "_ZN3std6thread5sleep17h0123456789abcdefE",
				     "_RNvMNtNtNtNtCsjrHSEGnQ3l9_3std3sys4sync5mutex5futexNtB2_5Mutex4wake",
				     "_ZN4core6Engine3runEv" };
enum {
	MAIN,
	SERVE,
	REBUILD,
	COMPACT,
	OTHER,
	LOCK,
	UNLOCK,
	USLEEP,
	COND_WAIT,
	COND_SIGNAL,
	TRYLOCK,
	RDLOCK,
	WRLOCK,
	RW_UNLOCK,
	SEM_WAIT,
	SEM_POST,
	JOIN,
	MALLOC,
	READ,
	TIMEDLOCK,
	RUST_SLEEP,
	RUST_WAKE,
	CORE_RUN,
	NAMES
};
enum { A = 0xa000, B = 0xb000, C = 0xc000, M = 0xe000 }; /* objects */

#define COLUMNS "SELECT kind, function_waited, object, culprit_thread, culprit_function, culprit_path FROM "

/* Threads 0, 1, ... of one process, each of which begins in main. */
static void make_threads(struct fixture *fixture, struct synth_thread **threads, uint32_t count)
{
	fixture_threads(fixture, names, NAMES, threads, count);
}

/* Calls it `us` long, at the depth at which the thread is, on up to two objects (0: none). */
static void begin_on(struct synth_thread *thread, uint64_t function, uint32_t depth, uint64_t object, uint64_t second)
{
	synth_call(thread, function);
	if (object)
		synth_event(thread, ADA_EVENT_OBJECT, object, depth);
	if (second)
		synth_event(thread, ADA_EVENT_OBJECT, second, depth);
}

static void call_on(struct synth_thread *thread, uint64_t function, uint32_t depth, uint64_t object, uint64_t us)
{
	begin_on(thread, function, depth, object, 0);
	synth_pass(thread, us * 1000);
	synth_return(thread);
}

/* The one thing that a test asks: why a call took long. */
static void expect_cause(struct fixture *fixture, const char *of, const char *expected)
{
	struct sql *sql = sql_open(fixture, true);
	char statement[200];

	snprintf(statement, sizeof statement, COLUMNS "%s", of);
	sql_expect(sql, statement, expected);
	sql_close(sql);
}

static void expect_function(struct fixture *fixture, const char *expected)
{
	struct sql *sql = sql_open(fixture, true);

	sql_expect(sql, "SELECT culprit_function FROM causes(0, 1)", expected);
	sql_close(sql);
}

/* rebuild, which holds the object while compact sleeps. */
static void hold(struct synth_thread *thread, uint64_t object, uint64_t us)
{
	synth_call(thread, REBUILD);
	call_on(thread, LOCK, 2, object, 0);
	synth_call(thread, COMPACT);
	call_on(thread, USLEEP, 3, 0, us);
	synth_return(thread);
	call_on(thread, UNLOCK, 2, object, 0);
	synth_return(thread);
}

static void test_a_lock_that_another_held(void **state)
{
	struct synth_thread *threads[3];
	struct sql *sql;

	make_threads(*state, threads, 3);
	synth_pass(threads[1], 1000 * 1000);
	hold(threads[1], A, 50000);
	hold(threads[1], B, 80000);
	synth_pass(threads[2], 2000 * 1000); /* another lock at the same time, and this one too early */
	hold(threads[2], A, 1);
	hold(threads[2], B, 60000);
	synth_pass(threads[0], 5000 * 1000);
	synth_call(threads[0], SERVE);
	call_on(threads[0], LOCK, 2, A, 46000);
	call_on(threads[0], UNLOCK, 2, A, 0);
	synth_return(threads[0]);
	sql = sql_open(*state, true);
	sql_expect(sql, COLUMNS "causes(0, 1)", "lock|pthread_mutex_lock|0xa000|1|compact|main > rebuild > compact > usleep\n");
	sql_expect(sql, COLUMNS "causes(0, 8)", "lock|pthread_mutex_lock|0xa000|1|compact|main > rebuild > compact > usleep\n");
	sql_expect(sql, "SELECT function, duration_ns, share, culprit_end_ns - culprit_start_ns FROM causes(0, 1)",
		   "serve|46000000|1.0|50000000\n");
	sql_expect(sql, "SELECT index_seq, end_index_seq, kind, object, ended_by_thread, ended_by_index_seq FROM waits WHERE thread = 0",
		   "2|4|lock|0xa000|1|9\n");
	sql_close(sql);
}

/* rebuild holds the object while a function below it sleeps. */
static void check_own_function(void **state, uint64_t function, uint64_t below, const char *expected)
{
	struct synth_thread *threads[2];

	make_threads(*state, threads, 2);
	synth_call(threads[1], REBUILD);
	call_on(threads[1], LOCK, 2, A, 0);
	synth_call(threads[1], function);
	synth_call(threads[1], below);
	call_on(threads[1], USLEEP, 4, 0, 50000);
	synth_return(threads[1]);
	synth_return(threads[1]);
	call_on(threads[1], UNLOCK, 2, A, 0);
	synth_return(threads[1]);
	synth_pass(threads[0], 1000 * 1000);
	synth_call(threads[0], SERVE);
	call_on(threads[0], LOCK, 2, A, 49000);
	synth_return(threads[0]);
	expect_function(*state, expected);
}

/* Functions of Rust's library are in the program, and not its own. Others of such namespaces are. */
static void test_rusts_library(void **state)
{
	check_own_function(state, RUST_WAKE, RUST_SLEEP, "rebuild\n");
}

static void test_a_namespace_called_core(void **state)
{
	check_own_function(state, CORE_RUN, RUST_SLEEP, "core::Engine::run()\n");
}

/* The wait's chain goes on where the holder waited itself. */
static void test_a_chain(void **state)
{
	struct synth_thread *threads[3];

	make_threads(*state, threads, 3);
	hold(threads[2], B, 50000);
	synth_pass(threads[1], 1000 * 1000);
	synth_call(threads[1], OTHER);
	call_on(threads[1], LOCK, 2, A, 0);
	call_on(threads[1], LOCK, 2, B, 49000);
	call_on(threads[1], UNLOCK, 2, B, 0);
	call_on(threads[1], UNLOCK, 2, A, 0);
	synth_return(threads[1]);
	synth_pass(threads[0], 2000 * 1000);
	synth_call(threads[0], SERVE);
	call_on(threads[0], LOCK, 2, A, 48000);
	synth_return(threads[0]);
	expect_cause(*state, "causes(0, 1)", "lock|pthread_mutex_lock|0xa000|2|compact|main > rebuild > compact > usleep\n");
}

static void test_a_deadlock(void **state)
{
	struct synth_thread *threads[3];
	struct sql *sql;

	make_threads(*state, threads, 3);
	for (int i = 0; i < 2; i++) {
		synth_call(threads[i], i ? REBUILD : SERVE);
		call_on(threads[i], LOCK, 2, i ? B : A, 0);
		synth_pass(threads[i], 1000);
		begin_on(threads[i], LOCK, 2, i ? A : B, 0);
	}
	synth_pass(threads[2], 900000 * 1000ull); /* the process goes on for so long */
	call_on(threads[2], OTHER, 1, 0, 1);
	sql = sql_open(*state, true);
	sql_expect(sql, COLUMNS "causes(0, 1)", "deadlock|pthread_mutex_lock|0xb000|1|rebuild|main > rebuild > pthread_mutex_lock\n");
	sql_expect(sql, COLUMNS "causes(1, 1)", "deadlock|pthread_mutex_lock|0xa000|0|serve|main > serve > pthread_mutex_lock\n");
	sql_expect(sql, "SELECT duration_ns > 800000000 FROM causes(0, 1)", "1\n"); /* open: until the process's end */
	sql_expect(sql, "SELECT thread, end_index_seq, ended_by_thread FROM waits WHERE kind = 'lock'", "0|-|-\n1|-|-\n");
	sql_close(sql);
}

/* Who waits for a condition doesn't hold its mutex. */
static void test_a_wait_for_a_condition_gives_its_mutex_back(void **state)
{
	struct synth_thread *threads[3];
	struct sql *sql;

	make_threads(*state, threads, 3);
	synth_call(threads[1], OTHER);
	call_on(threads[1], LOCK, 2, M, 0);
	begin_on(threads[1], COND_WAIT, 2, C, M);
	synth_pass(threads[1], 100000 * 1000ull);
	synth_return(threads[1]);
	call_on(threads[1], UNLOCK, 2, M, 0);
	synth_return(threads[1]);
	synth_pass(threads[2], 1000 * 1000);
	hold(threads[2], M, 50000);
	synth_pass(threads[2], 40000 * 1000ull);
	call_on(threads[2], COND_SIGNAL, 1, C, 0);
	synth_pass(threads[0], 2000 * 1000);
	call_on(threads[0], LOCK, 1, M, 49000);
	sql = sql_open(*state, true);
	sql_expect(sql, COLUMNS "causes(0, 1)", "lock|pthread_mutex_lock|0xe000|2|compact|main > rebuild > compact > usleep\n");
	sql_expect(sql, "SELECT kind, object, culprit_thread, culprit_end_ns - (SELECT min(start_ns) FROM calls) FROM causes(1, 5)",
		   "condition|0xc000|2|91000000\n");
	sql_expect(sql, "SELECT ended_by_thread, ended_by_index_seq FROM waits WHERE kind = 'condition'", "2|13\n");
	sql_close(sql);
}

/* Signalled after 10 ms, it goes on after 100: who had the mutex for 2 ms meanwhile didn't keep it from that; who had it for 80 did. */
static void woken_late(void **state, uint64_t held_us, const char *expected)
{
	struct synth_thread *threads[2];

	make_threads(*state, threads, 2);
	call_on(threads[0], LOCK, 1, M, 0);
	begin_on(threads[0], COND_WAIT, 1, C, M);
	synth_pass(threads[0], 100000 * 1000ull);
	synth_return(threads[0]);
	synth_call(threads[1], OTHER);
	synth_pass(threads[1], 10000 * 1000ull);
	call_on(threads[1], LOCK, 2, M, 0);
	call_on(threads[1], COND_SIGNAL, 2, C, 0);
	synth_pass(threads[1], held_us * 1000);
	call_on(threads[1], UNLOCK, 2, M, 0);
	expect_cause(*state, "causes(0, 4)", expected);
}

static void test_woken_late_by_nobody_known(void **state)
{
	woken_late(state, 2000, "condition|pthread_cond_wait|0xc000|1|other|main > other > pthread_cond_signal\n");
}

static void test_woken_late_for_its_mutex(void **state)
{
	woken_late(state, 80000, "lock|pthread_cond_wait|0xe000|1|other|main > other > pthread_mutex_lock\n");
}

static void test_a_lost_wake_up(void **state)
{
	struct synth_thread *threads[2];

	make_threads(*state, threads, 2);
	synth_call(threads[1], OTHER);
	call_on(threads[1], COND_SIGNAL, 2, C, 0);
	synth_return(threads[1]);
	synth_pass(threads[0], 1000 * 1000);
	call_on(threads[0], LOCK, 1, M, 0);
	begin_on(threads[0], COND_WAIT, 1, C, M);
	synth_pass(threads[1], 700000 * 1000ull);
	call_on(threads[1], USLEEP, 1, 0, 1);
	expect_cause(*state, "causes(0, 4)", "condition|pthread_cond_wait|0xc000|1|other|main > other > pthread_cond_signal\n");
}

/* A signal that woke somebody is not lost, and who gave it is no culprit of a later wait. */
static void test_a_signal_that_was_heard(void **state)
{
	struct synth_thread *threads[2];

	make_threads(*state, threads, 2);
	call_on(threads[0], COND_WAIT, 1, C, 1000);
	synth_pass(threads[1], 999 * 1000);
	call_on(threads[1], COND_SIGNAL, 1, C, 0);
	call_on(threads[0], COND_WAIT, 1, C, 500000);
	expect_cause(*state, "causes(0, 4)", "condition|pthread_cond_wait|0xc000|-|-|-\n");
}

static json_object *manual_mark(uint64_t ns)
{
	json_object *mark = json_object_new_object();

	json_object_object_add(mark, "kind", json_object_new_string("manual"));
	json_object_object_add(mark, "tsNs", json_object_new_uint64(ns));
	return mark;
}

/* `ada mark` names no call: of the threads that hang, the deadlocked ones say most. */
static void test_a_mark_on_a_hung_process(void **state)
{
	struct fixture *fixture = *state;
	json_object *mark = manual_mark(SYNTH_START_NS + 950000000);
	struct ada_cause_reader *reader;
	struct synth_thread *threads[5];
	struct ada_cause cause;

	make_threads(fixture, threads, 5);
	begin_on(threads[0], JOIN, 1, 0, 0);
	begin_on(threads[1], COND_WAIT, 1, C, M); /* idle: nobody signalled */
	for (int i = 2; i < 4; i++) {
		call_on(threads[i], LOCK, 1, i == 2 ? B : A, 0);
		synth_pass(threads[i], 1000);
		begin_on(threads[i], LOCK, 1, i == 2 ? A : B, 0);
	}
	synth_pass(threads[4], 900000 * 1000ull);
	call_on(threads[4], OTHER, 1, 0, 1);
	fixture_open(fixture, true, NULL, NULL, NULL);
	reader = ada_cause_reader_open(fixture->session);
	assert_int_equal(ada_cause_of_mark(reader, fixture->session->processes.items[0], mark, &cause), 0);
	assert_true(cause.found && cause.deadlock);
	assert_int_equal(cause.links.count, 2);
	assert_int_equal(cause.links.items[0].thread->number + cause.links.items[1].thread->number, 2 + 3);
	ada_cause_free(&cause);
	ada_cause_reader_close(reader);
	json_object_put(mark);
}

/* A wait of thread 0 in which thread 1 makes so many calls before it gives the object back, and `often` works on others: on so many that any may
 * be meant. */
static void make_hold(struct fixture *fixture, uint64_t calls, bool often)
{
	struct synth_thread *threads[2];

	make_threads(fixture, threads, 2);
	synth_call(threads[1], REBUILD);
	call_on(threads[1], LOCK, 2, A, 1);
	synth_pass(threads[0], 10000);
	begin_on(threads[0], LOCK, 1, A, 0);
	for (uint64_t i = 0; i < calls; i++) {
		call_on(threads[1], COMPACT, 2, 0, 1);
		if (often && i % 10 == 0)
			call_on(threads[1], UNLOCK, 2, B + i * 4, 0);
	}
	call_on(threads[1], UNLOCK, 2, A, 1);
	synth_pass(threads[0], (calls + 10) * 1000);
	synth_return(threads[0]);
	fixture_open(fixture, true, NULL, NULL, NULL);
}

static void check_hold(struct fixture *fixture, uint64_t calls, bool longer)
{
	struct ada_cause_reader *reader = ada_cause_reader_open(fixture->session);
	const struct ada_cause_link *link;
	struct ada_cause cause;

	assert_non_null(reader);
	assert_int_equal(ada_cause_find(reader, &fixture->session->threads.items[0], 1, &cause), 0);
	link = cause.links.items;
	assert_true(cause.found && link->kind == ADA_CAUSE_LOCK && link->culprit);
	assert_int_equal(link->culprit->number, 1);
	assert_int_equal(link->culprit_longer, longer);
	assert_true(longer ? link->culprit_start_ns > link->wait_start_ns : link->culprit_start_ns < link->wait_start_ns);
	assert_true(link->culprit_end_ns - link->culprit_start_ns >= calls * 1000 / (longer ? 3 : 1));
	/* What it did meanwhile. */
	assert_int_equal(cause.links.count, 2);
	assert_int_equal(cause.links.items[1].part, calls > 1000000);
	assert_int_equal(ADA_FUNCTION_SYMBOL(cause.links.items[1].function_id), COMPACT);
	ada_cause_free(&cause);
	ada_cause_reader_close(reader);
}

static void test_a_hold_of_many_calls(void **state)
{
	make_hold(*state, 100000, false);
	check_hold(*state, 100000, false);
}

/* Events in which the object doesn't occur are passed over, by blocks. */
static void test_a_hold_of_millions_of_calls(void **state)
{
	make_hold(*state, 3000000, false);
	check_hold(*state, 3000000, false);
	fixture_pack(*state, 65536);
	check_hold(*state, 3000000, false);
}

/* More events lie in the wait than may be read: who held it is known by what gave it back, since when only in part. */
static void test_a_hold_longer_than_what_is_read(void **state)
{
	make_hold(*state, 3000000, true);
	check_hold(*state, 3000000, true);
}

static void test_readers_and_a_writer(void **state)
{
	struct synth_thread *threads[3];

	make_threads(*state, threads, 3);
	for (int i = 1; i < 3; i++) {
		synth_call(threads[i], i == 1 ? REBUILD : OTHER);
		call_on(threads[i], RDLOCK, 2, A, 0);
		call_on(threads[i], USLEEP, 2, 0, i == 1 ? 60000 : 2000);
		call_on(threads[i], RW_UNLOCK, 2, A, 0);
		synth_return(threads[i]);
	}
	synth_pass(threads[0], 1000 * 1000);
	call_on(threads[0], WRLOCK, 1, A, 59000);
	call_on(threads[0], RW_UNLOCK, 1, A, 0);
	expect_cause(*state, "causes(0, 1)", "lock|pthread_rwlock_wrlock|0xa000|1|rebuild|main > rebuild > usleep\n");
}

/* No one held it: the time went elsewhere. An attempt that failed, or may have, holds nothing; nor does who waits for it, too. */
static void test_nobody_is_accused(void **state)
{
	struct synth_thread *threads[4];
	struct sql *sql;

	make_threads(*state, threads, 4);
	hold(threads[1], B, 50000);
	call_on(threads[2], TRYLOCK, 1, A, 1);
	call_on(threads[2], TIMEDLOCK, 1, A, 1);
	call_on(threads[2], USLEEP, 1, 0, 50000);
	synth_pass(threads[3], 500 * 1000);
	call_on(threads[3], LOCK, 1, A, 49000);
	synth_pass(threads[0], 1000 * 1000);
	call_on(threads[0], LOCK, 1, A, 48000);
	call_on(threads[0], MALLOC, 1, 0, 30000);
	sql = sql_open(*state, true);
	sql_expect(sql, "SELECT kind, object, culprit_thread, culprit_function, culprit_path FROM causes(0, 1)", "unknown|0xa000|-|-|-\n");
	sql_expect(sql, "SELECT kind, object, culprit_thread, culprit_function, culprit_path FROM causes(0, 4)", "unknown|-|-|-|-\n");
	sql_close(sql);
}

static void test_arenas(void **state)
{
	struct synth_thread *threads[3];

	make_threads(*state, threads, 3);
	for (int i = 0; i < 3; i++)
		call_on(threads[i], MALLOC, 1, 0, 30000);
	expect_cause(*state, "causes(0, 1)", "lock|malloc|-|-|-|-\n");
}

static void test_own_waits_and_work(void **state)
{
	struct synth_thread *threads[2];
	struct sql *sql;

	make_threads(*state, threads, 2);
	synth_call(threads[0], SERVE);
	call_on(threads[0], USLEEP, 2, 0, 30000);
	call_on(threads[0], READ, 2, 0, 10000);
	synth_return(threads[0]);
	synth_call(threads[0], REBUILD);
	for (int i = 0; i < 10000; i++)
		call_on(threads[0], COMPACT, 2, 0, 3);
	call_on(threads[0], USLEEP, 2, 0, 10000);
	synth_return(threads[0]);
	call_on(threads[0], OTHER, 1, 0, 30000);
	synth_call(threads[0], OTHER); /* 20 of its 25 ms are the recorder's */
	synth_pass(threads[0], 25000 * 1000);
	synth_event(threads[0], ADA_EVENT_RECORDER, 20000 * 1000, 1);
	synth_return(threads[0]);
	synth_call(threads[0], REBUILD); /* 10 of its 50 ms are; the wait took 30 of the rest */
	call_on(threads[0], USLEEP, 2, 0, 30000);
	synth_pass(threads[0], 20000 * 1000);
	synth_event(threads[0], ADA_EVENT_RECORDER, 10000 * 1000, 1);
	synth_return(threads[0]);
	sql = sql_open(*state, true);
	sql_expect(sql, COLUMNS "causes(0, 1)", "sleep|usleep|-|0|serve|main > serve > usleep\n");
	sql_expect(sql, "SELECT share FROM causes(0, 1)", "0.75\n");
	sql_expect(sql, "SELECT kind, function_waited, spells FROM causes(0, 7)", "cpu|compact|10000\n");
	sql_expect(sql, "SELECT kind, function_waited, culprit_thread FROM causes(0, 20011)", "unknown|other|-\n");
	sql_expect(sql, "SELECT kind, share, duration_ns FROM causes(0, 20013)", "recorder|0.8|25000000\n");
	sql_expect(
		sql,
		"SELECT kind, function_waited, round(share, 3), causes.duration_ns = calls.duration_ns AND calls.duration_ns / 1000000 = 40 "
		"FROM causes(0, 20016) JOIN calls ON calls.index_seq = 20016",
		"sleep|usleep|0.75|1\n");
	sql_expect(sql, "SELECT kind, count(*) FROM waits GROUP BY kind ORDER BY kind", "io|1\nsleep|3\n");
	sql_close(sql);
}

static void test_a_semaphore_and_a_join(void **state)
{
	struct synth_thread *threads[2];
	struct sql *sql;

	make_threads(*state, threads, 2);
	call_on(threads[1], USLEEP, 1, 0, 40000);
	call_on(threads[1], SEM_POST, 1, A, 0);
	call_on(threads[1], COMPACT, 1, 0, 40000);
	synth_return(threads[1]);
	synth_pass(threads[0], 1000 * 1000);
	call_on(threads[0], SEM_WAIT, 1, A, 39001);
	call_on(threads[0], JOIN, 1, B, 41000);
	sql = sql_open(*state, true);
	sql_expect(sql, COLUMNS "causes(0, 1)", "condition|sem_wait|0xa000|1|main|main > usleep\n");
	sql_expect(sql, "SELECT kind, culprit_thread FROM causes(0, 4)", "condition|1\n");
	sql_expect(sql, "SELECT ended_by_thread, ended_by_index_seq FROM waits WHERE thread = 0", "1|3\n1|8\n");
	sql_close(sql);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(test_a_lock_that_another_held),
		FIXTURE_TEST(test_rusts_library),
		FIXTURE_TEST(test_a_namespace_called_core),
		FIXTURE_TEST(test_a_chain),
		FIXTURE_TEST(test_a_deadlock),
		FIXTURE_TEST(test_a_wait_for_a_condition_gives_its_mutex_back),
		FIXTURE_TEST(test_woken_late_by_nobody_known),
		FIXTURE_TEST(test_woken_late_for_its_mutex),
		FIXTURE_TEST(test_a_lost_wake_up),
		FIXTURE_TEST(test_a_signal_that_was_heard),
		FIXTURE_TEST(test_a_mark_on_a_hung_process),
		FIXTURE_TEST(test_a_hold_of_many_calls),
		FIXTURE_TEST(test_a_hold_of_millions_of_calls),
		FIXTURE_TEST(test_a_hold_longer_than_what_is_read),
		FIXTURE_TEST(test_readers_and_a_writer),
		FIXTURE_TEST(test_nobody_is_accused),
		FIXTURE_TEST(test_arenas),
		FIXTURE_TEST(test_own_waits_and_work),
		FIXTURE_TEST(test_a_semaphore_and_a_join),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
