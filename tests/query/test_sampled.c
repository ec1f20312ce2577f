/* What samples.atf proves of a call that no function explains: who was ready to run and had no CPU, whom a limit or a hypervisor held up,
 * who ran; and that what lies partly outside proves nothing. */
#include <stdio.h>
#include <time.h>
#include "atf/sched/sched.h"
#include "query/session/sched.h"
#include "sql_fixture.h"

static const char *const names[] = {
	"main", "serve", "usleep", "malloc", "pthread_spin_lock", "pthread_spin_unlock", "crunch", "pthread_spin_trylock"
};
enum { MAIN, SERVE, USLEEP, MALLOC, SPIN_LOCK, SPIN_UNLOCK, CRUNCH, SPIN_TRY, NAMES };

#define CALL_MS 400
#define SAMPLE_MS 20
#define MS 1000000ull

struct plan { /* of one call, in each of its samples; in ms but for the faults */
	uint64_t ran, ready, minor, major, stolen, throttled;
	uint16_t cpu, stolen_cpu;
	uint32_t reach_ms; /* instead of many samples one, of so much time, that ends in the middle */
	bool sleeps;
	const char *expected;
};
static const struct plan plans[] = {
	{ .ready = 15, .expected = "runqueue|serve\n" },
	{ .ready = 15, .sleeps = true, .expected = "runqueue|usleep\n" },
	{ .ready = 5, .sleeps = true, .expected = "sleep|usleep\n" },
	{ .ready = 15, .throttled = 12, .expected = "throttled|serve\n" },
	{ .ready = 15, .throttled = 5, .expected = "runqueue|serve\n" },
	{ .ran = 18, .expected = "cpu|serve\n" },
	{ .ran = 18, .minor = 10000, .expected = "fault|serve\n" },
	{ .ran = 18, .minor = 320, .expected = "fault|serve\n" }, /* 56 us each, where one takes 30 */
	{ .ran = 18, .minor = 280, .expected = "cpu|serve\n" },
	{ .ran = 18, .cpu = 1, .stolen = 15, .stolen_cpu = 1, .expected = "steal|serve\n" },
	{ .ran = 18, .cpu = 1, .stolen = 15, .stolen_cpu = 0, .expected = "cpu|serve\n" },
	{ .expected = "unknown|serve\n" },
	{ .ready = 300, .reach_ms = 1000, .expected = "unknown|serve\n" },
	{ .ready = 390, .reach_ms = 20, .expected = "unknown|serve\n" }, /* told when it was over: it began before the call */
	{ .ready = 990, .reach_ms = 1000, .expected = "unknown|serve\n" },
};
#define PLANS (sizeof plans / sizeof *plans)

static void put_of(struct atf_sched_writer *writer, uint32_t tid, uint16_t kind, uint64_t count, uint64_t ns, uint32_t ms, uint16_t cpu)
{
	bool of_thread = kind < ATF_SCHED_STOLEN;
	AtfSchedEvent event = { .timestamp_ns = ns,
				.count = count,
				.thread_id = of_thread ? tid : 0,
				.process_id = of_thread ? 10 : 0,
				.other_id = ms * 1000,
				.kind = kind,
				.cpu = cpu };

	if (count)
		assert_int_equal(atf_sched_writer_append(writer, &event, 1), 0);
}

static void put(struct atf_sched_writer *writer, uint16_t kind, uint64_t count, uint64_t ns, uint32_t ms, uint16_t cpu)
{
	put_of(writer, 10, kind, count, ns, ms, cpu);
}

/* A new file of the session. */
static struct atf_sched_writer *lane_of(const struct fixture *fixture, const char *name)
{
	struct atf_sched_writer *writer;
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%s/%s", fixture->directory, name);
	assert_int_equal(atf_sched_writer_open(&writer, path, 2, 0), 0);
	return writer;
}

/* A file of switches that begins with the thread on a CPU. */
static struct atf_sched_writer *switches_of(const struct fixture *fixture)
{
	struct atf_sched_writer *switches = lane_of(fixture, "sched.atf");

	put(switches, ATF_SCHED_ON, 1, SYNTH_START_NS - 1, 0, 0);
	return switches;
}

static void put_sample(struct atf_sched_writer *writer, const struct plan *plan, uint64_t ns, uint32_t ms)
{
	put(writer, ATF_SCHED_RAN, plan->ran * MS, ns, ms, plan->cpu);
	put(writer, ATF_SCHED_READY, plan->ready * MS, ns, ms, plan->cpu);
	put(writer, ATF_SCHED_MINOR, plan->minor, ns, ms, plan->cpu);
	put(writer, ATF_SCHED_STOLEN, plan->stolen * MS, ns, ms, plan->stolen_cpu);
	put(writer, ATF_SCHED_THROTTLED, plan->throttled * MS, ns, ms, 0);
}

static void test_what_is_proven(void **state)
{
	struct fixture *fixture = *state;
	struct synth_thread *thread = fixture_thread(fixture, names, NAMES);
	char statement[100];
	struct atf_sched_writer *writer;
	uint32_t positions[PLANS];
	struct sql *sql;

	writer = lane_of(fixture, "samples.atf");
	synth_call(thread, MAIN);
	for (size_t i = 0, position = 1; i < PLANS; i++) {
		uint64_t start_ns = SYNTH_START_NS + i * (CALL_MS + 2000) * MS;

		positions[i] = (uint32_t)position;
		synth_call(thread, SERVE);
		if (plans[i].sleeps)
			synth_call(thread, USLEEP);
		synth_pass(thread, CALL_MS * MS);
		if (plans[i].sleeps)
			synth_return(thread);
		synth_return(thread);
		position += plans[i].sleeps ? 4 : 2;
		synth_pass(thread, 2000 * MS);
		if (plans[i].reach_ms)
			put_sample(writer, &plans[i], start_ns + CALL_MS / 2 * MS, plans[i].reach_ms);
		for (uint64_t ms = SAMPLE_MS; ms < CALL_MS && !plans[i].reach_ms; ms += SAMPLE_MS)
			put_sample(writer, &plans[i], start_ns + ms * MS, SAMPLE_MS);
	}
	assert_int_equal(atf_sched_writer_close(writer), 0);
	sql = sql_open(fixture, true);
	for (size_t i = 0; i < PLANS; i++) {
		snprintf(statement, sizeof statement, "SELECT kind, function_waited FROM causes(0, %u)", positions[i]);
		sql_expect(sql, statement, plans[i].expected);
	}
	sql_close(sql);
}

/* A function of the program's own that is off its CPU all the time: pages that came from a disk are why, as often as it was. */
static void test_pages_from_a_disk(void **state)
{
	struct fixture *fixture = *state;
	struct synth_thread *thread = fixture_thread(fixture, names, NAMES);
	struct atf_sched_writer *samples, *switches;
	struct sql *sql;

	samples = lane_of(fixture, "samples.atf");
	switches = switches_of(fixture);
	synth_call(thread, MAIN);
	for (int faults = 1; faults >= 0; faults--) {
		uint64_t start_ns = SYNTH_START_NS + (uint64_t)!faults * CALL_MS * MS;

		synth_leaf(thread, SERVE, CALL_MS * MS);
		for (uint64_t ms = SAMPLE_MS; ms < CALL_MS; ms += SAMPLE_MS) {
			put(switches, ATF_SCHED_OFF, 1, start_ns + (ms - SAMPLE_MS) * MS, 0, 0);
			put(switches, ATF_SCHED_ON, 1, start_ns + ms * MS - 1, 0, 0);
			put(samples, ATF_SCHED_MAJOR, (uint64_t)faults, start_ns + ms * MS, SAMPLE_MS, 0);
		}
	}
	assert_int_equal(atf_sched_writer_close(samples), 0);
	assert_int_equal(atf_sched_writer_close(switches), 0);
	sql = sql_open(fixture, true);
	sql_expect(sql, "SELECT kind, function_waited FROM causes(0, 1)", "fault|serve\n");
	sql_expect(sql, "SELECT kind, function_waited FROM causes(0, 3)", "unknown|serve\n");
	sql_close(sql);
}

/* Of ten calls of a function the longest had no CPU for most of it: that isn't where the time of all ten went, and no sample of
 * the longest says what the others did. */
static void test_the_longest_of_many_calls(void **state)
{
	struct fixture *fixture = *state;
	struct synth_thread *thread = fixture_thread(fixture, names, NAMES);
	struct plan waits = { .ready = 15 }, runs = { .ran = 20 };
	struct atf_sched_writer *samples = lane_of(fixture, "samples.atf");
	uint64_t now_ns = SYNTH_START_NS;
	struct sql *sql;

	synth_call(thread, MAIN);
	for (int i = 0; i < 10; i++) {
		uint32_t ms = CALL_MS + (i == 4 ? SAMPLE_MS : 0);

		synth_leaf(thread, SERVE, ms * MS);
		for (uint32_t at = SAMPLE_MS; at <= ms; at += SAMPLE_MS)
			put_sample(samples, i == 4 ? &waits : &runs, now_ns + at * MS, SAMPLE_MS);
		now_ns += ms * MS;
	}
	synth_return(thread);
	assert_int_equal(atf_sched_writer_close(samples), 0);
	sql = sql_open(fixture, true);
	sql_expect(sql, "SELECT kind, function_waited FROM causes(0, 0)", "unknown|serve\n");
	sql_expect(sql, "SELECT kind, function_waited FROM causes(0, 9)", "runqueue|serve\n");
	sql_close(sql);
}

/* Where each switch is known, samples have no say: all that ran is more than what the longest call had no CPU for. */
static void test_switches_say_more_than_samples(void **state)
{
	struct fixture *fixture = *state;
	struct synth_thread *thread = fixture_thread(fixture, names, NAMES);
	struct plan waits = { .ready = 20 }, runs = { .ran = 20 };
	struct atf_sched_writer *samples = lane_of(fixture, "samples.atf"), *switches = switches_of(fixture);
	uint64_t now_ns = SYNTH_START_NS;
	struct sql *sql;

	synth_call(thread, MAIN);
	for (int i = 0; i < 7; i++) {
		bool longest = i == 4;
		uint32_t ms = longest ? 4 * CALL_MS : CALL_MS;

		synth_leaf(thread, SERVE, ms * MS);
		for (uint32_t at = SAMPLE_MS; at <= ms; at += SAMPLE_MS)
			put_sample(samples, longest && at > CALL_MS / 2 ? &waits : &runs, now_ns + at * MS, SAMPLE_MS);
		now_ns += ms * MS;
		if (longest) {
			put(switches, ATF_SCHED_PREEMPTED, 1, now_ns - (ms - CALL_MS / 2) * MS, 0, 0);
			put(switches, ATF_SCHED_ON, 1, now_ns, 0, 0);
		}
	}
	synth_return(thread);
	assert_int_equal(atf_sched_writer_close(samples), 0);
	assert_int_equal(atf_sched_writer_close(switches), 0);
	sql = sql_open(fixture, true);
	sql_expect(sql, "SELECT kind, function_waited, share FROM causes(0, 0)", "cpu|serve|0.65\n");
	sql_expect(sql, "SELECT kind, function_waited FROM causes(0, 9)", "preempted|serve\n");
	sql_close(sql);
}

/* A thread that was ready to run within malloc, and had no CPU, waited for no arena. One that slept there waited for what nobody saw. */
static void test_preempted_in_the_allocator(void **state)
{
	struct fixture *fixture = *state;
	struct synth_thread *thread = fixture_thread(fixture, names, NAMES);
	struct atf_sched_writer *switches;
	struct sql *sql;

	switches = switches_of(fixture);
	synth_call(thread, MAIN);
	for (uint64_t i = 0; i < 2; i++) {
		uint64_t start_ns = SYNTH_START_NS + i * CALL_MS * MS;

		synth_leaf(thread, MALLOC, CALL_MS * MS);
		put(switches, i ? ATF_SCHED_OFF : ATF_SCHED_PREEMPTED, 1, start_ns + 20 * MS, 0, 0);
		put(switches, ATF_SCHED_ON, 1, start_ns + 380 * MS, 0, 0);
	}
	assert_int_equal(atf_sched_writer_close(switches), 0);
	sql = sql_open(fixture, true);
	sql_expect(sql, "SELECT kind, function_waited FROM causes(0, 1)", "preempted|malloc\n");
	sql_expect(sql, "SELECT kind, function_waited FROM causes(0, 3)", "unknown|malloc\n");
	sql_close(sql);
}

/* Of 100,000 spells in the middle of which records are missing: what is known from any of them to the end, or to the loss, without a look at
 * all that lies between. */
static void test_off_of_many_spells(void **state)
{
	enum { SPELLS = 100000, LOSS = SPELLS / 2 };
	struct fixture *fixture = *state;
	struct synth_thread *thread = fixture_thread(fixture, names, NAMES);
	struct atf_sched_writer *switches = switches_of(fixture);
	const struct ada_sched_thread *sched;
	uint64_t end_ns = SYNTH_START_NS + SPELLS * 1000ull, loss_ns = SYNTH_START_NS + LOSS * 1000ull, off_ns, until_ns;
	clock_t begin;

	synth_call(thread, MAIN);
	for (uint64_t i = 0; i < SPELLS; i++) {
		if (i == LOSS)
			put(switches, ATF_SCHED_LOST, 1, loss_ns, 0, 0);
		put(switches, ATF_SCHED_OFF, 1, SYNTH_START_NS + i * 1000 + 100, 0, 0);
		put(switches, ATF_SCHED_ON, 1, SYNTH_START_NS + i * 1000 + 400, 0, 0);
	}
	assert_int_equal(atf_sched_writer_close(switches), 0);
	fixture_open(fixture, true, NULL, NULL, NULL);
	sched = ada_sched_of(&fixture->session->threads.items[0]);
	assert_non_null(sched);
	begin = clock();
	for (uint64_t i = 0; i < SPELLS; i++) {
		uint64_t from_ns = SYNTH_START_NS + i * 1000;
		bool known = i > LOSS;

		assert_int_equal(ada_sched_off_ns(sched, from_ns, end_ns, &off_ns), known);
		assert_true(!known || off_ns == (SPELLS - i) * 300);
		assert_int_equal(ada_sched_known(sched, from_ns, &until_ns), i != LOSS);
		if (i >= LOSS)
			continue;
		assert_true(ada_sched_off_ns(sched, from_ns, loss_ns - 600, &off_ns));
		assert_int_equal(off_ns, (LOSS - i) * 300);
	}
	assert_true(clock() - begin < CLOCKS_PER_SEC);
}

/* A second thread, which has taken the lock. */
static struct synth_thread *holder_of_spin_lock(struct fixture *fixture)
{
	struct synth_thread *holder = synth_thread(fixture->synth, 11, "holder");

	synth_call(holder, MAIN);
	synth_call(holder, SPIN_LOCK);
	synth_event(holder, ADA_EVENT_OBJECT, 0xa000, 1);
	synth_return(holder);
	return holder;
}

/* Who spins has no CPU for a part of the time, but was held up by who had the lock: for long in the first wait, no time in the second. */
static void test_a_spin_lock_that_was_held(void **state)
{
	const struct plan plan = { .ready = 15 };
	struct fixture *fixture = *state;
	struct atf_sched_writer *samples = lane_of(fixture, "samples.atf");
	struct synth_thread *thread = fixture_thread(fixture, names, NAMES), *holder = holder_of_spin_lock(fixture);
	struct sql *sql;

	synth_pass(holder, (CALL_MS - 1) * MS);
	synth_call(holder, SPIN_UNLOCK);
	synth_event(holder, ADA_EVENT_OBJECT, 0xa000, 1);
	synth_return(holder);
	synth_call(thread, MAIN);
	for (int i = 0; i < 2; i++) {
		synth_call(thread, SPIN_LOCK);
		synth_event(thread, ADA_EVENT_OBJECT, 0xa000 + (uint64_t)i, 1);
		synth_pass(thread, CALL_MS * MS);
		synth_return(thread);
	}
	for (uint64_t ms = SAMPLE_MS; ms <= 2 * CALL_MS; ms += SAMPLE_MS)
		put_sample(samples, &plan, SYNTH_START_NS + ms * MS, SAMPLE_MS);
	assert_int_equal(atf_sched_writer_close(samples), 0);
	sql = sql_open(fixture, true);
	sql_expect(sql, "SELECT kind, culprit_thread, share FROM causes(0, 1)", "lock|1|1.0\n");
	sql_expect(sql, "SELECT kind, culprit_thread FROM causes(0, 4)", "runqueue|-\n");
	sql_close(sql);
}

static void put_tries(struct synth_thread *thread, uint64_t between_ms)
{
	for (int i = 0; i < 3; i++) {
		synth_pass(thread, i ? between_ms * MS : 0);
		synth_call(thread, SPIN_TRY);
		synth_event(thread, ADA_EVENT_OBJECT, 0xa000, 2);
		synth_return(thread);
	}
	synth_pass(thread, (CALL_MS - 2 * between_ms) * MS);
}

/* A thread has the CPU for a moment, now and then: in the first call it tries for most of the time, in the second it soon gave up. What it was
 * kept from the CPU for is more than the attempts took, but in the first call most of that lies between them. */
static void test_attempts_without_a_cpu(void **state)
{
	struct fixture *fixture = *state;
	struct atf_sched_writer *switches = switches_of(fixture);
	struct synth_thread *thread = fixture_thread(fixture, names, NAMES), *holder = holder_of_spin_lock(fixture);
	struct sql *sql;

	synth_pass(holder, 3 * CALL_MS * MS);
	synth_call(thread, MAIN);
	for (uint64_t i = 0; i < 2; i++) {
		synth_call(thread, SERVE);
		put_tries(thread, i ? 50 : 150);
		synth_return(thread);
	}
	for (uint64_t ms = 0; ms < 2 * CALL_MS; ms += 50) {
		put(switches, ATF_SCHED_PREEMPTED, 1, SYNTH_START_NS + (ms + 2) * MS, 0, 0);
		put(switches, ATF_SCHED_ON, 1, SYNTH_START_NS + (ms + 48) * MS, 0, 0);
	}
	assert_int_equal(atf_sched_writer_close(switches), 0);
	sql = sql_open(fixture, true);
	sql_expect(sql, "SELECT kind, culprit_thread, function_waited FROM causes(0, 1)", "lock|1|pthread_spin_trylock\n");
	sql_expect(sql, "SELECT kind, culprit_thread, function_waited FROM causes(0, 12)", "preempted|-|serve\n");
	sql_close(sql);
}

/* It asks once whether the lock is free, and has no CPU in the midst: whoever holds the lock kept it from nothing. */
static void test_one_attempt_without_a_cpu(void **state)
{
	struct fixture *fixture = *state;
	struct atf_sched_writer *switches = switches_of(fixture);
	struct synth_thread *thread = fixture_thread(fixture, names, NAMES), *holder = holder_of_spin_lock(fixture);
	struct sql *sql;

	synth_pass(holder, CALL_MS * MS);
	synth_call(holder, SPIN_UNLOCK);
	synth_event(holder, ADA_EVENT_OBJECT, 0xa000, 1);
	synth_return(holder);
	synth_call(thread, MAIN);
	synth_call(thread, SPIN_TRY);
	synth_event(thread, ADA_EVENT_OBJECT, 0xa000, 1);
	synth_pass(thread, CALL_MS * MS);
	synth_return(thread);
	put(switches, ATF_SCHED_PREEMPTED, 1, SYNTH_START_NS + 2 * MS, 0, 0);
	put(switches, ATF_SCHED_ON, 1, SYNTH_START_NS + (CALL_MS - 2) * MS, 0, 0);
	assert_int_equal(atf_sched_writer_close(switches), 0);
	sql = sql_open(fixture, true);
	sql_expect(sql, "SELECT kind, culprit_thread, function_waited FROM causes(0, 1)", "preempted|-|pthread_spin_trylock\n");
	sql_expect(sql, "SELECT count(*) FROM waits", "0\n");
	sql_close(sql);
}

#define RIVALS 3

/* The thread `victim` has no CPU for most of the call: first 11 has it for a moment, last 12 for long, or others that nobody recorded. */
static void put_rivals(struct atf_sched_writer *switches, uint32_t victim, uint64_t start_ns, bool recorded)
{
	uint64_t ns = start_ns + 20 * MS;

	put_of(switches, victim, ATF_SCHED_PREEMPTED, 1, ns, 0, 0);
	for (int i = 0; i < 6; i++, ns += 60 * MS) {
		put_of(switches, 11, ATF_SCHED_ON, 1, ns, 0, 0);
		put_of(switches, 11, ATF_SCHED_OFF, 1, ns + MS, 0, 0);
		if (!recorded)
			continue;
		put_of(switches, 12, ATF_SCHED_ON, 1, ns + MS, 0, 0);
		put_of(switches, 12, ATF_SCHED_PREEMPTED, 1, ns + 60 * MS, 0, 0);
	}
	put_of(switches, victim, ATF_SCHED_ON, 1, ns, 0, 0);
}

/* Who had the CPU for longest is named, not who had it first; and nobody where it was nobody's that is recorded. */
static void test_who_had_the_cpu_for_longest(void **state)
{
	struct fixture *fixture = *state;
	struct synth_thread *thread = fixture_thread(fixture, names, NAMES);
	struct atf_sched_writer *switches = switches_of(fixture);
	struct sql *sql;

	for (uint32_t i = 1; i < RIVALS; i++) {
		struct synth_thread *rival = synth_thread(fixture->synth, 10 + i, "rival");

		synth_call(rival, i == 1 ? USLEEP : CRUNCH);
		synth_pass(rival, 2 * CALL_MS * MS);
		synth_return(rival);
	}
	synth_call(thread, MAIN);
	for (uint64_t i = 0; i < 2; i++) {
		synth_leaf(thread, SERVE, CALL_MS * MS);
		put_rivals(switches, 10, SYNTH_START_NS + i * CALL_MS * MS, !i);
	}
	assert_int_equal(atf_sched_writer_close(switches), 0);
	sql = sql_open(fixture, true);
	sql_expect(sql, "SELECT kind, function_waited, culprit_thread, culprit_path, culprit_kind, rival_thread FROM causes(0, 1)",
		   "preempted|serve|2|crunch|-|-\n");
	sql_expect(sql, "SELECT kind, function_waited, culprit_thread, culprit_path FROM causes(0, 3)", "preempted|serve|-|-\n");
	sql_close(sql);
}

/* The holder of a lock has no CPU: he is to blame for the wait, and who had it instead is told, too. */
static void test_who_had_the_holders_cpu(void **state)
{
	struct fixture *fixture = *state;
	struct synth_thread *holder = fixture_thread(fixture, names, NAMES), *rivals[RIVALS + 1];
	struct atf_sched_writer *switches = switches_of(fixture);
	struct sql *sql;

	for (uint32_t i = 1; i <= RIVALS; i++)
		rivals[i] = synth_thread(fixture->synth, 10 + i, "other");
	synth_call(holder, MAIN);
	synth_call(holder, SPIN_LOCK);
	synth_event(holder, ADA_EVENT_OBJECT, 0xa000, 1);
	synth_return(holder);
	synth_leaf(holder, SERVE, CALL_MS * MS);
	synth_call(holder, SPIN_UNLOCK);
	synth_event(holder, ADA_EVENT_OBJECT, 0xa000, 1);
	synth_return(holder);
	synth_leaf(rivals[1], USLEEP, CALL_MS * MS);
	synth_leaf(rivals[2], CRUNCH, CALL_MS * MS);
	synth_pass(rivals[3], MS);
	synth_call(rivals[3], SPIN_LOCK);
	synth_event(rivals[3], ADA_EVENT_OBJECT, 0xa000, 0);
	synth_pass(rivals[3], CALL_MS * MS);
	synth_return(rivals[3]);
	put_rivals(switches, 10, SYNTH_START_NS, true);
	assert_int_equal(atf_sched_writer_close(switches), 0);
	sql = sql_open(fixture, true);
	sql_expect(sql, "SELECT kind, culprit_thread, culprit_path, culprit_kind, rival_thread, rival_path FROM causes(3, 0)",
		   "lock|0|main > serve|preempted|2|crunch\n");
	sql_close(sql);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(test_what_is_proven),
		FIXTURE_TEST(test_pages_from_a_disk),
		FIXTURE_TEST(test_the_longest_of_many_calls),
		FIXTURE_TEST(test_switches_say_more_than_samples),
		FIXTURE_TEST(test_preempted_in_the_allocator),
		FIXTURE_TEST(test_off_of_many_spells),
		FIXTURE_TEST(test_a_spin_lock_that_was_held),
		FIXTURE_TEST(test_attempts_without_a_cpu),
		FIXTURE_TEST(test_one_attempt_without_a_cpu),
		FIXTURE_TEST(test_who_had_the_cpu_for_longest),
		FIXTURE_TEST(test_who_had_the_holders_cpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
