/* What rules remember, what the ring and the pin hold, and all of it under many threads and a policy that changes. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include "judge_fixture.h"

#define THREADS 4

/* --- what rules remember ------------------------------------------------------------------------------------------------ */

static int by_value(const void *a, const void *b)
{
	return (*(const uint64_t *)a > *(const uint64_t *)b) - (*(const uint64_t *)a < *(const uint64_t *)b);
}

/* The nearest-rank percentile of the last `over` of n durations. */
static uint64_t percentile_of(const uint64_t *durations, uint64_t n, uint64_t over, uint64_t share)
{
	uint64_t sorted[1000], count = n < over ? n : over, rank = (share * count + 99999) / 100000;

	memcpy(sorted, durations + n - count, count * sizeof sorted[0]);
	qsort(sorted, count, sizeof sorted[0], by_value);
	return sorted[rank - 1];
}

static void percentiles(uint64_t share, uint64_t over, uint64_t enough, enum ada_rule_op op)
{
	static uint64_t durations[2500];
	struct ada_rule *rule = rule_put(1, ADA_RULE_PERCENTILE);
	bool above = false;
	uint32_t turns = 0;

	memset(ada_policy_state(policy(), 1), 0, sizeof(struct ada_rule_state));
	ada_policy_state(policy(), 1)->incarnation = 1;
	memset(ada_policy_samples(policy(), 1), 0, ADA_SAMPLE_BYTES);
	rule->op = op;
	rule->operand.u = 1000;
	rule->percentile = share;
	rule->over = over;
	for (uint64_t n = 1; n <= 2500; n++) {
		bool slow = n / 400 % 2, now = above;

		/* In slow times more of them exceed the bound than the percentile leaves room for, in others fewer. */
		durations[n - 1] = (uint64_t)(rand() % 100000) < (slow ? 4 : 1) * (100000 - share) / (slow ? 1 : 3) ? 1001 + rand() % 100 :
														      900 + rand() % 101;
		if (n >= enough)
			now = c_compare(percentile_of(durations, n, over, share), op, 1000);
		assert_int_equal(return_marks(50, 50 + durations[n - 1]), now && !above);
		turns += now && !above;
		above = now;
	}
	assert_true(turns > 0);
}

static void percentiles_are_those_of_the_last_durations(void **state)
{
	srand(1);
	percentiles(99000, 1000, 100, ADA_OP_GT);
	percentiles(99900, 1000, 1000, ADA_OP_GT);
	percentiles(50000, 100, 2, ADA_OP_GT);
	percentiles(95000, 64, 20, ADA_OP_GE);
	percentiles(90000, 7, 7, ADA_OP_GT);
	percentiles(90000, 100, 10, ADA_OP_LT);
	percentiles(90000, 100, 10, ADA_OP_LE);
}

static void rates_are_exact_for_few_calls(void **state)
{
	static uint64_t times[4000];
	struct ada_rule *rule = rule_put(1, ADA_RULE_RATE);
	bool above = false;
	uint32_t turns = 0;

	srand(2);
	rule->operand.u = 20;
	rule->per_ticks = 1000;
	for (uint32_t n = 0; n < 4000; n++) {
		uint32_t within = 0;
		bool now;

		times[n] = (n ? times[n - 1] : 5000) + rand() % (n / 100 % 2 ? 60 : 150);
		for (uint32_t i = 0; i <= n; i++)
			within += times[n] - times[i] < 1000;
		now = within > 20;
		assert_int_equal(call_marks(times[n]), now && !above);
		turns += now && !above;
		above = now;
	}
	assert_true(turns > 10);
}

static void rates_of_many_calls_are_told_by_buckets(void **state)
{
	struct ada_rule *rule = rule_put(1, ADA_RULE_RATE);
	uint64_t time = 1 << 20;

	rule->operand.u = 5000;
	rule->per_ticks = 1000000;
	for (uint32_t i = 0; i < 20000; i++) /* 4,950 within the time */
		assert_false(call_marks(time += 202));
	for (uint32_t turn = 0; turn < 3; turn++) {
		uint64_t fast = 0;

		while (!call_marks(time += 190))
			assert_true(++fast < 6000);
		assert_true(fast > 400);
		for (uint32_t i = 0; i < 500; i++) /* by so little that it may seem to fall back */
			call_marks(time += 190);
		for (uint32_t i = 0; i < 20000; i++)
			assert_false(call_marks(time += 190));
		assert_false(call_marks(time += 3000000)); /* long quiet */
		for (uint32_t i = 0; i < 4999; i++)
			assert_false(call_marks(time += 1));
		assert_true(call_marks(time += 1)); /* the 5,001st */
		time += 3000000;
		assert_false(call_marks(time));
	}
}

static void new_callers_mark_once(void **state)
{
	struct ada_rule *rule = rule_put(1, ADA_RULE_NEW_CALLER);
	struct ada_judged event = call_at(1);
	uint64_t seen = 0;

	rule->after = 10;
	for (uint32_t i = 0; i < 10; i++) {
		event.return_address = 0x1000 + i % 5;
		assert_false(marks_for(&event));
	}
	for (uint32_t i = 0; i < 5; i++) {
		event.return_address = 0x1000 + i;
		assert_false(marks_for(&event));
	}
	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 2000; i++) {
			event.return_address = 0x2000 + i * 16;
			seen += marks_for(&event);
		}
	assert_int_equal(seen, 1024 * 15 / 16 - 5); /* as many as there is room for, none twice */
	assert_int_equal(ada_policy_state(policy(), 1)->samples, 1024 * 15 / 16);
	assert_true(ada_policy_state(policy(), 1)->overlooked > 1000);
}

static void options_count(void **state)
{
	struct ada_rule *rule = rule_put(1, ADA_RULE_SYMBOL);

	rule->after = 3;
	rule->every = 4;
	for (uint32_t i = 0; i < 40; i++)
		assert_int_equal(call_marks(1000 + i), i >= 3 && (i - 3) % 4 == 0);
	rule->after = rule->every = 0;
	rule->limit = 3;
	rule->limit_ticks = 100;
	for (uint32_t i = 0; i < 400; i++) /* a call each 10: 3 of 10 */
		assert_int_equal(call_marks(2000 + 10 * i), i % 10 < 3);
	assert_int_equal(ada_policy_state(policy(), 1)->matches, 440);
	assert_int_equal(ada_policy_state(policy(), 1)->marks, 10 + 120);
	assert_int_equal(ada_policy_state(policy(), 1)->last_counter, 2000 + 3920);
	rule->incarnation = 2; /* a state that isn't this rule's is left alone */
	assert_false(call_marks(9000000));
	assert_int_equal(ada_policy_state(policy(), 1)->matches, 440);
}

/* --- many at once ------------------------------------------------------------------------------------------------------- */

static void on_threads(void *(*run)(void *))
{
	pthread_t threads[THREADS];

	for (uint64_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run, (void *)i), 0);
	for (uint64_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void *call_often(void *number)
{
	struct ada_judged event = call_at(1);

	for (uint64_t i = 0; i < 25000; i++) {
		event.counter = 1000000 + i;
		event.return_address = 0x1000 + i % 500;
		event.thread = (uint64_t)number;
		ada_judge(&event);
	}
	return NULL;
}

static void counts_are_exact_under_threads(void **state)
{
	rule_put(0, ADA_RULE_SYMBOL)->every = 7;
	rule_put(1, ADA_RULE_SYMBOL)->after = 99990;
	rule_put(2, ADA_RULE_SYMBOL)->limit = 1234;
	table(0)->rules[2].limit_ticks = 100000000;
	rule_put(3, ADA_RULE_NEW_CALLER);
	on_threads(call_often);
	for (uint32_t slot = 0; slot < 3; slot++)
		assert_int_equal(ada_policy_state(policy(), slot)->matches, 100000);
	assert_int_equal(ada_policy_state(policy(), 0)->marks, (100000 + 6) / 7);
	assert_int_equal(ada_policy_state(policy(), 1)->marks, 10);
	assert_int_equal(ada_policy_state(policy(), 2)->marks, 1234);
	assert_int_equal(ada_policy_state(policy(), 3)->marks, 500);
	assert_int_equal(ada_policy_state(policy(), 3)->samples, 500);
	assert_int_equal(shm->marks.head + shm->marks.missed, marked());
}

static uint64_t calls_in_handler;

static void judge_in_handler(int number)
{
	struct ada_judged event = call_at(500);

	event.return_address = 0x9000 + calls_in_handler % 100;
	ada_judge(&event);
	calls_in_handler++;
}

/* A handler's hooks judge in the midst of a judgement. */
static void handlers_may_come_in_between(void **state)
{
	const struct itimerval often = { { 0, 50 }, { 0, 50 } }, never = { { 0, 0 }, { 0, 0 } };
	struct ada_judged event = call_at(1000);
	uint64_t calls = 0;

	rule_put(0, ADA_RULE_SYMBOL)->every = 3;
	rule_put(1, ADA_RULE_SYMBOL)->limit = 500;
	table(0)->rules[1].limit_ticks = 1 << 30;
	rule_put(2, ADA_RULE_NEW_CALLER);
	calls_in_handler = 0;
	signal(SIGALRM, judge_in_handler);
	setitimer(ITIMER_REAL, &often, NULL);
	for (; __atomic_load_n(&calls_in_handler, __ATOMIC_RELAXED) < 300; calls++)
		ada_judge(&event);
	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGALRM, SIG_DFL);
	calls += calls_in_handler;
	assert_int_equal(ada_policy_state(policy(), 0)->matches, calls);
	assert_int_equal(ada_policy_state(policy(), 0)->marks, (calls + 2) / 3);
	assert_int_equal(ada_policy_state(policy(), 1)->marks, 500);
	assert_int_equal(ada_policy_state(policy(), 2)->marks, 101);
	assert_int_equal(shm->marks.head + shm->marks.missed, marked());
	for (uint64_t i = 0; i < shm->marks.head; i++)
		assert_int_equal(marks()[i].ready, i + 1);
	assert_int_equal(shm->detail.pin.end, 1000);
	assert_int_equal(shm->detail.pin.start & ((1 << ADA_PIN_EPOCH_BITS) - 1), marked() % (1 << ADA_PIN_EPOCH_BITS));
}

/* A full ring: what finds no room is counted, with all that it wanted kept. */
static void a_full_ring_misses_nothing_of_importance(void **state)
{
	struct ada_rule *rule = rule_put(0, ADA_RULE_SYMBOL);

	rule->pre_ticks = 100;
	for (uint64_t i = 0; i < ADA_MARKS; i++)
		assert_true(call_marks(100000 + i));
	assert_int_equal(shm->marks.missed, 0);
	rule->post_ticks = 50;
	assert_true(call_marks(90000));
	assert_true(call_marks(200000));
	assert_true(call_marks(150000));
	assert_int_equal(shm->marks.head, ADA_MARKS);
	assert_int_equal(shm->marks.missed, 3);
	assert_int_equal(shm->marks.missed_rules, 1);
	assert_int_equal(shm->marks.missed_start, 89900);
	assert_int_equal(shm->marks.missed_end, 200050);
	assert_true(ada_pin_holds(shm->detail.pin.start, shm->detail.pin.end, 89900, 89900));
	assert_int_equal(shm->detail.pin.end, 200050);
	shm->marks.tail = 1; /* the recorder has taken one */
	assert_true(call_marks(300000));
	assert_int_equal(marks()[0].ready, ADA_MARKS + 1);
	assert_int_equal(marks()[0].counter, 300000);
}

static void the_pin_only_grows(void **state)
{
	uint64_t epoch = (1 << ADA_PIN_EPOCH_BITS) - 1;

	rule_put(0, ADA_RULE_SYMBOL)->pre_ticks = 1 << 20;
	on_threads(call_often);
	assert_true((shm->detail.pin.start & ~epoch) == ada_pin_start(0));
	assert_int_equal(shm->detail.pin.end, 1024999);
	assert_int_equal(shm->detail.pin.start & epoch, 100000 & epoch);
	table(0)->rules[0].post_events = 5;
	assert_true(call_marks(2000000));
	assert_true(shm->detail.pin.end == UINT64_MAX);
	shm->detail.pin = (struct ada_pin){ ADA_PIN_NONE | epoch, 77 }; /* nothing pinned: the end means nothing either */
	table(0)->rules[0].post_events = 0;
	assert_true(call_marks(8 << 20));
	assert_true(shm->detail.pin.start == ada_pin_start(7 << 20));
	assert_int_equal(shm->detail.pin.end, 8 << 20);
}

#define SPAN_KEYS 3000

/* Begins and ends its own keys, with those of the others in the same buckets: each is timed by its own beginning. */
static void *span_often(void *number)
{
	struct ada_registers own = { 0 };
	struct ada_judged event = call_at(1);

	event.thread = (uint32_t)(uint64_t)number;
	event.registers = &own;
	for (uint64_t i = 0; i < 10 * SPAN_KEYS; i++) {
		own.rdi = i % SPAN_KEYS * THREADS + (uint64_t)number;
		event.number = i / SPAN_KEYS % 2 ? FUNCTION : FUNCTION + 2;
		event.counter = 1000 + i;
		ada_judge(&event);
	}
	return NULL;
}

static void spans_are_whole_under_threads(void **state)
{
	struct ada_rule *ends = rule_put(1, ADA_RULE_SPAN), *begins = rule_put(2, ADA_RULE_SPAN_BEGIN);
	uint64_t *masks = (uint64_t *)((char *)table(0) + ADA_POLICY_MASKS);

	ends->op = ADA_OP_EQ;
	ends->operand.u = SPAN_KEYS;
	ends->argument = begins->argument = 1;
	begins->span = 1;
	masks[3] = 1ull << 1;
	masks[4] = 1ull << 2;
	((uint16_t *)((char *)table(0) + ADA_POLICY_CLASSES))[FUNCTION + 2] = 4;
	on_threads(span_often);
	/* A full bucket may cost some, which are counted; what ends ends with its own time. */
	assert_in_range(ada_policy_state(policy(), 1)->matches + ada_policy_state(policy(), 1)->overlooked, 5 * SPAN_KEYS * THREADS,
			5 * SPAN_KEYS * THREADS + ada_policy_state(policy(), 1)->overlooked);
	assert_true(ada_policy_state(policy(), 1)->matches > 4 * SPAN_KEYS * THREADS);
	for (uint64_t i = 0; i < shm->marks.head && i < ADA_MARKS; i++)
		assert_int_equal(marks()[i].begin_thread, marks()[i].thread);
}

/* A thread that was preempted between its event and the judge. */
static void what_happened_before_a_rule_does_not_mark(void **state)
{
	struct ada_rule_state *own = ada_policy_state(policy(), 0);

	rule_put(0, ADA_RULE_SYMBOL);
	own->since_counter = 5000;
	assert_false(call_marks(4999));
	assert_int_equal(own->matches, 0);
	assert_true(call_marks(5000));
}

/* A window without rolls is one ns, and an event some ticks beside the mark may lie in it. */
static void a_mark_holds_its_whole_ns(void **state)
{
	uint64_t at = (8 << 20) + (1 << ADA_PIN_GRAIN); /* where a grain of the pin begins */

	rule_put(0, ADA_RULE_SYMBOL);
	assert_true(call_marks(at));
	for (uint64_t ticks = 0; ticks <= 8; ticks++) {
		assert_true(ada_judge_wants(shm, at - 100000, at - ticks));
		assert_true(ada_judge_wants(shm, at + ticks, at + 100000));
		assert_true(ada_pin_holds(shm->detail.pin.start, shm->detail.pin.end, at - 100000, at - ticks));
		assert_true(ada_pin_holds(shm->detail.pin.start, shm->detail.pin.end, at + ticks, at + 100000));
	}
	assert_false(ada_judge_wants(shm, at - 100000, at - 1000));
	assert_false(ada_judge_wants(shm, at + 1000, at + 100000));
}

static void pre_rolls_in_events_reach_back_by_chunks(void **state)
{
	struct ada_rule *rule = rule_put(0, ADA_RULE_SYMBOL);
	struct ada_judged event = call_at(9000000);

	rule->pre_events = 1000;
	rule->pre_ticks = 10;
	for (uint64_t chunk = 0; chunk < 40; chunk++)
		ada_judge_chunk(chunk * 1022, 1000 + chunk * 100);
	event.seq = 39 * 1022 + 1000;
	assert_true(marks_for(&event));
	assert_int_equal(marks()[0].pin_start, 1000 + 39 * 100);
	event.seq = 39 * 1022 + 999;
	assert_true(marks_for(&event));
	assert_int_equal(marks()[1].pin_start, 1000 + 38 * 100);
	rule->pre_events = 1022 * 16; /* further than is remembered */
	assert_true(marks_for(&event));
	assert_int_equal(marks()[2].pin_start, 0);
	rule->pre_events = 1000;
	event.seq = 10; /* the thread hasn't had so many */
	assert_true(marks_for(&event));
	assert_int_equal(marks()[3].pin_start, 0);
	rule->pre_ticks = 9000000 - 50; /* reaches back further */
	event.seq = 39 * 1022 + 1000;
	assert_true(marks_for(&event));
	assert_int_equal(marks()[4].pin_start, 50);
}

/* --- a policy that changes ---------------------------------------------------------------------------------------------- */

#define SWAPS 10000
static bool swapping;

/* Version v: names FUNCTION by slot v % 64 alone, and says v in each field of the mark that comes of it. */
static void table_fill(struct ada_policy_table *in, uint32_t version)
{
	struct ada_rule rule = { .kind = ADA_RULE_SYMBOL, .flags = ADA_RULE_ENABLED, .pre_ticks = version, .post_ticks = version };

	__atomic_store_n(&in->generation, in->generation + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	in->version = version;
	for (uint32_t slot = 0; slot < 64; slot++)
		in->rules[slot].kind = 0;
	in->rules[version % 64] = rule;
	name_in(in, FUNCTION, 1ull << version % 64);
	__atomic_store_n(&in->generation, in->generation + 1, __ATOMIC_RELEASE);
}

static void *call_while_swapping(void *number)
{
	while (__atomic_load_n(&swapping, __ATOMIC_ACQUIRE)) {
		struct ada_judged event = call_at(1 << 20);

		ada_judge(&event);
		__atomic_fetch_add((uint64_t *)number, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static uint64_t marks_check(void)
{
	uint64_t taken = 0;

	for (; shm->marks.tail < __atomic_load_n(&shm->marks.head, __ATOMIC_ACQUIRE); taken++) {
		struct ada_mark *mark = &marks()[shm->marks.tail % ADA_MARKS];

		if (__atomic_load_n(&mark->ready, __ATOMIC_ACQUIRE) != shm->marks.tail + 1)
			break;
		assert_true(mark->rules == 1ull << mark->version % 64);
		assert_int_equal(mark->pre_ticks, mark->version);
		assert_int_equal(mark->post_ticks, mark->version);
		__atomic_store_n(&shm->marks.tail, shm->marks.tail + 1, __ATOMIC_RELEASE);
	}
	return taken;
}

static void no_event_is_marked_under_a_mixture(void **state)
{
	pthread_t threads[THREADS];
	uint64_t calls = 0, taken = 0;

	table_fill(table(1), 1); /* the next one goes into the other table: none is filled while it is in force */
	force(1);
	for (uint32_t slot = 0; slot < 64; slot++)
		ada_policy_state(policy(), slot)->incarnation = 0;
	swapping = true;
	for (uint32_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, call_while_swapping, &calls), 0);
	for (uint32_t version = 2; version < SWAPS; version++) {
		table_fill(table(version % 2), version);
		force(version % 2);
		taken += marks_check();
		for (uint64_t before = marked(); version % 64 == 0 && marked() == before;)
			sched_yield();
	}
	__atomic_store_n(&swapping, false, __ATOMIC_RELEASE);
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	taken += marks_check();
	assert_int_equal(marked(), calls); /* each version names the function: none is left out */
	assert_int_equal(taken + shm->marks.missed, calls);
	assert_true(calls >= SWAPS / 64 && taken > SWAPS / 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = { TEST(percentiles_are_those_of_the_last_durations),
					    TEST(rates_are_exact_for_few_calls),
					    TEST(rates_of_many_calls_are_told_by_buckets),
					    TEST(new_callers_mark_once),
					    TEST(options_count),
					    TEST(counts_are_exact_under_threads),
					    TEST(handlers_may_come_in_between),
					    TEST(a_full_ring_misses_nothing_of_importance),
					    TEST(the_pin_only_grows),
					    TEST(spans_are_whole_under_threads),
					    TEST(what_happened_before_a_rule_does_not_mark),
					    TEST(a_mark_holds_its_whole_ns),
					    TEST(pre_rolls_in_events_reach_back_by_chunks),
					    TEST(no_event_is_marked_under_a_mixture) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
