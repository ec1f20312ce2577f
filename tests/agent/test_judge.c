/* The judge alone: each kind of rule, and what a mark says. Counters are made up, so that every answer is known beforehand. */
#include <stdio.h>
#include <time.h>
#include "judge_fixture.h"

static void calls_of_named_functions_mark(void **state)
{
	struct ada_rule *rule = rule_put(5, ADA_RULE_SYMBOL);
	struct ada_judged event = call_at(1000000);
	struct ada_mark *mark = marks();

	rule->pre_ticks = 3000;
	rule->post_ticks = 500;
	table(0)->version = 9;
	event.number = FUNCTION + 1;
	assert_false(marks_for(&event));
	event.number = 0;
	assert_false(marks_for(&event));
	event.number = 5000; /* beyond the table's functions */
	assert_false(marks_for(&event));
	assert_false(return_marks(1, 1000000));
	assert_true(call_marks(1000000));
	assert_int_equal(shm->marks.head, 1);
	assert_int_equal(mark->ready, 1);
	assert_int_equal(mark->counter, 1000000);
	assert_int_equal(mark->rules, 1 << 5);
	assert_int_equal(mark->version, 9);
	assert_int_equal(mark->thread, 2);
	assert_int_equal(mark->seq, 5);
	assert_int_equal(mark->function_id, 0x1234);
	assert_int_equal(mark->pin_start, 997000);
	assert_int_equal(mark->pin_end, 1000500);
	assert_true(ada_pin_holds(shm->detail.pin.start, shm->detail.pin.end, 0, 997000));
	assert_false(ada_pin_holds(shm->detail.pin.start, shm->detail.pin.end, 0, 997000 - 4096));
	assert_int_equal(shm->detail.pin.end, 1000500);
	shm->disabled = ADA_DISABLE_CONFINED;
	assert_false(call_marks(2000000));
	shm->disabled = ADA_DISABLE_NONE;
	rule->flags = 0;
	assert_false(call_marks(2000000));
}

static void rules_that_fit_one_event_are_one_mark(void **state)
{
	for (uint32_t slot = 0; slot < 64; slot++) {
		struct ada_rule *rule = rule_put(slot, slot % 3 ? ADA_RULE_SYMBOL : ADA_RULE_LATENCY);

		rule->op = ADA_OP_GT;
		rule->pre_ticks = 100 + slot;
		rule->post_ticks = 1000 - slot;
		rule->every = slot % 3 == 2 ? 2 : 0;
	}
	for (uint32_t call = 0; call < 3; call++) {
		uint64_t expected = 0;

		assert_true(call_marks(5000));
		for (uint32_t slot = 0; slot < 64; slot++)
			expected |= (uint64_t)(slot % 3 == 1 || (slot % 3 == 2 && call % 2 == 0)) << slot;
		assert_true(marks()[call].rules == expected);
		assert_int_equal(marks()[call].pre_ticks, call % 2 ? 161 : 162);
		assert_int_equal(marks()[call].post_ticks, 999);
	}
	assert_int_equal(marked(), 3);
	assert_int_equal(ada_policy_state(policy(), 2)->matches, 3);
	assert_int_equal(ada_policy_state(policy(), 2)->marks, 2);
}

struct comparison {
	enum ada_value_type type;
	uint64_t raw;
	enum ada_rule_op op;
	int64_t operand;
	bool fits;
};

static void values_are_compared_by_their_type(void **state)
{
	static const struct comparison cases[] = { { ADA_VALUE_I32, 0xffffffff, ADA_OP_LT, 0, true },
						   { ADA_VALUE_I64, 0xffffffff, ADA_OP_LT, 0, false },
						   { ADA_VALUE_U32, 0xdead00000005, ADA_OP_EQ, 5, true },
						   { ADA_VALUE_I8, 0x1ff, ADA_OP_EQ, -1, true },
						   { ADA_VALUE_U8, 0x1ff, ADA_OP_EQ, 255, true },
						   { ADA_VALUE_I16, 0x8000, ADA_OP_LE, -32768, true },
						   { ADA_VALUE_U16, 0x18000, ADA_OP_GE, 32768, true },
						   { ADA_VALUE_U64, -1ull, ADA_OP_GT, 5, true },
						   { ADA_VALUE_I64, -1ull, ADA_OP_GT, 5, false },
						   { ADA_VALUE_I64, 5, ADA_OP_NE, 5, false },
						   { ADA_VALUE_I64, 5, ADA_OP_GE, 5, true },
						   { ADA_VALUE_I64, 5, ADA_OP_LE, 4, false },
						   { ADA_VALUE_I64, 5, ADA_OP_NONE, 5, false } };
	struct ada_rule *rule = rule_put(1, ADA_RULE_RETURN);

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		rule->type = cases[i].type;
		rule->op = cases[i].op;
		rule->operand.i = cases[i].operand;
		registers.rax = cases[i].raw;
		assert_int_equal(return_marks(1, 2), cases[i].fits);
	}
}

static uint64_t bits_of(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, 8);
	return bits;
}

static uint64_t bits_of_float(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, 4);
	return bits | 0xabcdull << 32; /* what lies above it in the register */
}

static void real_numbers_compare_as_in_c(void **state)
{
	static const float values[] = { 0.0f,
					-0.0f,
					1.0f,
					-1.0f,
					1.5f,
					1e-45f,
					-1e-45f,
					5e-40f,
					1.17549435e-38f,
					3.4e38f,
					-3.4e38f,
					__builtin_inff(),
					-__builtin_inff(),
					__builtin_nanf(""),
					0.1f,
					100.25f };
	const size_t count = sizeof values / sizeof values[0];
	struct ada_rule rule = { 0 };

	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < count; k++)
			for (enum ada_rule_op op = ADA_OP_NONE; op <= ADA_OP_GT; op++) {
				double a = values[i], b = values[k];

				rule.operand.f = b;
				rule.op = op;
				rule.type = ADA_VALUE_F64;
				assert_int_equal(ada_value_fits(bits_of(a), &rule), c_compare(a, op, b));
				rule.type = ADA_VALUE_F32;
				assert_int_equal(ada_value_fits(bits_of_float(values[i]), &rule), c_compare(a, op, b));
			}
}

static void results_need_a_return(void **state)
{
	struct ada_rule *rule = rule_put(1, ADA_RULE_RETURN);
	struct ada_judged event = return_at(1, 2);

	rule->op = ADA_OP_EQ;
	rule->type = ADA_VALUE_F64;
	rule->operand.f = 2.5;
	event.xmm0 = bits_of(2.5);
	assert_true(marks_for(&event));
	assert_true(marks()[0].value == bits_of(2.5));
	event.kind = ADA_EVENT_EXCEPTION;
	assert_false(marks_for(&event));
	event.kind = ADA_EVENT_RETURN;
	event.registers = NULL;
	assert_false(marks_for(&event));
}

static void arguments_are_found(void **state)
{
	struct ada_rule *rule = rule_put(1, ADA_RULE_ARG);

	registers = (struct ada_registers){ .rdi = 1, .rsi = 2, .rdx = 3, .rcx = 4, .r8 = 5, .r9 = 6 };
	rule->op = ADA_OP_EQ;
	for (uint32_t argument = 1; argument <= 7; argument++)
		for (int64_t value = 1; value <= 7; value++) {
			rule->argument = argument;
			rule->operand.i = value;
			assert_int_equal(call_marks(2), argument == value && argument <= 6);
		}
	assert_false(return_marks(1, 2));
}

static void durations_are_compared(void **state)
{
	struct ada_rule *rule = rule_put(1, ADA_RULE_LATENCY);
	struct ada_judged event = return_at(1000, 1501);

	rule->op = ADA_OP_GT;
	rule->operand.u = 500;
	assert_false(return_marks(1000, 1500));
	assert_true(return_marks(1000, 1501));
	assert_int_equal(marks()[0].value, 501);
	event.kind = ADA_EVENT_EXCEPTION; /* it lasted as long, however it ended */
	assert_true(marks_for(&event));
	assert_false(return_marks(0, 1000000)); /* its call is not known */
	assert_false(return_marks(1001, 1000));
}

static void depth_marks(void **state)
{
	struct ada_judged event = call_at(1);
	struct ada_rule *rule = rule_put(1, ADA_RULE_DEPTH), *global = &table(0)->rules[2];

	rule->operand.u = 3;
	for (event.depth = 0; event.depth < 10; event.depth++) /* once a descent */
		assert_int_equal(marks_for(&event), event.depth == 4);
	event.kind = ADA_EVENT_RETURN;
	for (event.depth = 9; event.depth > 4; event.depth--)
		assert_false(marks_for(&event));
	event.kind = ADA_EVENT_CALL;
	event.depth = 5;
	assert_false(marks_for(&event)); /* the marked call is still open */
	event.kind = ADA_EVENT_EXCEPTION;
	event.depth = 4;
	assert_false(marks_for(&event));
	event.kind = ADA_EVENT_CALL;
	event.depth = 6;
	assert_true(marks_for(&event)); /* it isn't any more */
	event.depth = 5;
	assert_true(marks_for(&event)); /* nor this, as a call above it shows */
	event.thread++;
	assert_true(marks_for(&event)); /* another thread's descent */
	event.thread--;
	*global = (struct ada_rule){ .kind = ADA_RULE_DEPTH, .flags = ADA_RULE_ENABLED | ADA_RULE_GLOBAL, .operand.u = 6 };
	table(0)->global_calls = 1 << 2;
	table(0)->depth_limit = 6;
	event.number = 0; /* of a function without number, too */
	for (event.depth = 0; event.depth < 10; event.depth++)
		assert_int_equal(marks_for(&event), event.depth == 7);
	event.kind = ADA_EVENT_RETURN;
	event.depth = 7;
	assert_false(marks_for(&event));
}

static void burn(uint64_t ns)
{
	struct timespec start, now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while ((uint64_t)((now.tv_sec - start.tv_sec) * 1000000000ll + now.tv_nsec - start.tv_nsec) < ns);
}

static void cpu_time_is_the_threads_own(void **state)
{
	struct ada_rule *rule = rule_put(1, ADA_RULE_CPU);
	struct ada_judged outer = call_at(1), inner = call_at(2), outer_end = return_at(1, 4), inner_end = return_at(2, 3);
	struct timespec pause = { 0, 20000000 };

	rule->op = ADA_OP_GT;
	rule->operand.u = 10000000;
	inner.slot = inner_end.slot = outer.slot - 64;
	ada_judge(&outer);
	nanosleep(&pause, NULL);
	ada_judge(&inner);
	burn(12000000);
	assert_true(marks_for(&inner_end));
	assert_true(marks()[0].value >= 12000000);
	assert_true(marks_for(&outer_end));
	ada_judge(&outer);
	nanosleep(&pause, NULL);
	assert_false(marks_for(&outer_end));
	burn(12000000);
	assert_false(marks_for(&outer_end));		 /* its call was not seen */
	for (uint32_t depth = 0; depth < 100; depth++) { /* more than there is room for, left by a jump */
		inner.slot = outer.slot - 64 * depth;
		ada_judge(&inner);
	}
	ada_judge(&outer);
	burn(12000000);
	assert_true(marks_for(&outer_end));
}

static void exceptions_are_known_by_type(void **state)
{
	static const struct {
		const char *pattern, *mangled;
		bool fits;
	} cases[] = { { "", "St13runtime_error", true },
		      { "std::runtime_error", "St13runtime_error", true },
		      { "St13*", "St13runtime_error", true },
		      { "std::*", "St12out_of_range", true },
		      { "runtime_error", "St13runtime_error", false },
		      { "foo::bar", "N3foo3barE", true },
		      { "foo::ba?", "N3foo3barE", true },
		      { "foo::ba", "N3foo3barE", false },
		      { "*bar", "N3foo3barE", true },
		      { "std::filesystem::error", "NSt10filesystem5errorE", true },
		      { "mine", "4mine", true },
		      { "int", "i", true },
		      { "mine", "*4mine", true },
		      { "*a*b*c", "9xaxbxbxcx", false },
		      { "*a*b*cx", "9xaxbxbxcx", true },
		      { "std::vector", "St6vectorIiSaIiEE", false },
		      { "St6vectorI*", "St6vectorIiSaIiEE", true },
		      { "mine", "", false },
		      { "int", "99x", false } };
	struct ada_rule *rule = rule_put(1, ADA_RULE_EXCEPTION);
	const void *type[2] = { NULL, NULL };

	registers.rsi = (uint64_t)type;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		snprintf(rule->name, sizeof rule->name, "%s", cases[i].pattern);
		type[1] = cases[i].mangled;
		assert_int_equal(call_marks(1), cases[i].fits);
	}
	registers.rsi = 0x10; /* no type at all */
	assert_false(call_marks(1));
	*rule->name = 0;
	assert_true(call_marks(1));
}

static void signals_mark(void **state)
{
	struct ada_rule *crash = &table(0)->rules[8], *signals = &table(0)->rules[9];

	*crash = (struct ada_rule){ .kind = ADA_RULE_CRASH, .flags = ADA_RULE_ENABLED | ADA_RULE_GLOBAL };
	*signals = (struct ada_rule){ .kind = ADA_RULE_SIGNAL, .flags = ADA_RULE_ENABLED | ADA_RULE_GLOBAL, .signals = 1 << 9 | 1 << 10 };
	table(0)->crash_rules = 1 << 8;
	table(0)->signal_rules = table(0)->signals = 1 << 9;
	ada_judge_signal(10, false, 500, 3, 77);
	ada_judge_signal(11, true, 501, 3, 78);
	ada_judge_signal(12, false, 502, 3, 79);
	ada_judge_signal(12, true, 503, ADA_NONE, UINT64_MAX);
	assert_int_equal(marked(), 3);
	assert_int_equal(marks()[0].rules, 1 << 9);
	assert_int_equal(marks()[0].value, 10);
	assert_int_equal(marks()[0].seq, 77);
	assert_int_equal(marks()[1].rules, 3 << 8);
	assert_int_equal(marks()[2].rules, 1 << 8);
	assert_int_equal(marks()[2].thread, ADA_NONE);
}

/* Slot 4 ends by the second argument, an int; slot 6 begins by the first, a long. BEGINS and BOTH are functions beside FUNCTION. */
#define BEGINS (FUNCTION + 2)
#define BOTH (FUNCTION + 3)
#define SPAN 4

static void span_put(enum ada_rule_op op, uint64_t ticks)
{
	struct ada_rule *ends = rule_put(SPAN, ADA_RULE_SPAN), *begins = rule_put(SPAN + 2, ADA_RULE_SPAN_BEGIN);
	uint16_t *classes = (uint16_t *)((char *)table(0) + ADA_POLICY_CLASSES);
	uint64_t *masks = (uint64_t *)((char *)table(0) + ADA_POLICY_MASKS);

	ends->op = op;
	ends->operand.u = ticks;
	ends->type = ADA_VALUE_I32;
	ends->argument = 2;
	begins->type = ADA_VALUE_I64;
	begins->argument = 1;
	begins->span = SPAN;
	masks[3] = 1ull << SPAN;
	masks[4] = 1ull << (SPAN + 2);
	masks[5] = masks[3] | masks[4];
	classes[BEGINS] = 4;
	classes[BOTH] = 5;
}

static bool span_marks(uint32_t function, uint64_t key, uint64_t counter, uint32_t thread)
{
	struct ada_judged event = call_at(counter);

	registers.rdi = function == FUNCTION ? ~0ull : key;
	registers.rsi = function == BEGINS ? ~0ull : key;
	event.number = function;
	event.thread = thread;
	return marks_for(&event);
}

static void spans_go_from_call_to_call(void **state)
{
	span_put(ADA_OP_GT, 1000);
	assert_false(span_marks(BEGINS, (uint64_t)-5, 10000, 1));
	assert_false(span_marks(BEGINS, 7, 10100, 2));
	assert_false(span_marks(FUNCTION, 6, 19000, 3));		/* never begun */
	assert_true(span_marks(FUNCTION, 0xdeadfffffffbull, 11001, 3)); /* as an int it is -5 */
	assert_int_equal(marks()[0].rules, 1 << SPAN);
	assert_int_equal(marks()[0].value, 1001);
	assert_true(marks()[0].key == (uint64_t)-5);
	assert_int_equal(marks()[0].begin_counter, 10000);
	assert_int_equal(marks()[0].begin_thread, 1);
	assert_int_equal(marks()[0].thread, 3);
	assert_false(span_marks(FUNCTION, 0xdeadfffffffbull, 12000, 3)); /* it ended */
	assert_false(span_marks(FUNCTION, 7, 11100, 3));		 /* took 1,000 */
	assert_false(span_marks(BEGINS, 7, 20000, 1));
	assert_false(span_marks(BEGINS, 7, 20500, 2)); /* anew: counts from here */
	assert_false(span_marks(FUNCTION, 7, 21500, 3));
	assert_false(span_marks(BEGINS, 8, 30000, 1));
	assert_false(span_marks(FUNCTION, 8, 29000, 3)); /* clocks that differ: no time */
	assert_int_equal(ada_policy_state(policy(), SPAN)->matches, 1);
	assert_int_equal(ada_policy_state(policy(), SPAN)->overlooked, 0);
}

/* One function that ends a span and begins the next: from call to call of the same key. */
static void spans_of_one_function(void **state)
{
	span_put(ADA_OP_GE, 100);
	assert_false(span_marks(BOTH, 1, 1000, 1));
	assert_true(span_marks(BOTH, 1, 1100, 1));
	assert_false(span_marks(BOTH, 2, 1150, 1));
	assert_false(span_marks(BOTH, 1, 1199, 1));
	assert_true(span_marks(BOTH, 1, 1299, 1));
	assert_int_equal(marks()[1].begin_counter, 1199);
}

/* More than there is room for: the oldest give way, each is counted, and what ends is never timed wrongly. */
static void spans_that_have_no_room_are_counted(void **state)
{
	const uint64_t keys = 3 * ADA_SPAN_BYTES / sizeof(struct ada_begun);
	uint64_t found = 0;

	span_put(ADA_OP_GT, 0);
	for (uint64_t key = 0; key < keys; key++)
		assert_false(span_marks(BEGINS, key, 1000 + key, 1));
	for (uint64_t key = 0; key < keys; key++) {
		shm->marks.tail = shm->marks.head;
		if (!span_marks(FUNCTION, key, 1000000 + key, 2))
			continue;
		assert_int_equal(marks()[(shm->marks.head - 1) % ADA_MARKS].value, 1000000 - 1000);
		found++;
	}
	assert_int_equal(found + ada_policy_state(policy(), SPAN)->overlooked, keys);
	assert_true(found > keys / 4);
	table(0)->rules[SPAN].incarnation = table(0)->rules[SPAN + 2]
						    .incarnation = 2; /* another rule: what began under the first is not its */
	assert_false(span_marks(BEGINS, 5, 2000000, 1));
	ada_policy_state(policy(), SPAN)->incarnation = 2;
	assert_false(span_marks(FUNCTION, 5, 2000001, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = { TEST(calls_of_named_functions_mark),
					    TEST(rules_that_fit_one_event_are_one_mark),
					    TEST(values_are_compared_by_their_type),
					    TEST(real_numbers_compare_as_in_c),
					    TEST(results_need_a_return),
					    TEST(arguments_are_found),
					    TEST(durations_are_compared),
					    TEST(depth_marks),
					    TEST(cpu_time_is_the_threads_own),
					    TEST(exceptions_are_known_by_type),
					    TEST(signals_mark),
					    TEST(spans_go_from_call_to_call),
					    TEST(spans_of_one_function),
					    TEST(spans_that_have_no_room_are_counted) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
