/* The agent's form of rules, which events of a function they look at, and intervals of the day. */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "rules.h"

#define MINUTE 60ull
#define HOUR 3600ull
#define SECOND_NS 1000000000ull

static const struct ada_rolls rolls = { 5000, 7, 6000, 8 };
static const struct ada_rolls no_rolls;

static struct ada_rule rule_of(const char *text, enum ada_value_type type)
{
	struct ada_trigger *trigger = good(text);
	struct ada_rule rule;

	memset(&rule, 0xff, sizeof rule);
	ada_trigger_rule(trigger, 2.5, &rolls, type, &rule);
	ada_trigger_free(trigger);
	return rule;
}

static void flags(void **state)
{
	static const struct {
		const char *text;
		int flags;
	} cases[] = { { "symbol=f", ADA_POLICY_CALL },
		      { "arg=f:1>1", ADA_POLICY_CALL },
		      { "rate=f>1/s", ADA_POLICY_CALL },
		      { "new-caller=f", ADA_POLICY_CALL },
		      { "depth=f>1", ADA_POLICY_CALL | ADA_POLICY_RETURN },
		      { "exception", ADA_POLICY_CALL },
		      { "return=f<0", ADA_POLICY_RETURN },
		      { "latency=f>1ms", ADA_POLICY_RETURN },
		      { "p99=f>1ms", ADA_POLICY_RETURN },
		      { "cpu=f>1ms", ADA_POLICY_CALL | ADA_POLICY_RETURN },
		      { "depth>5", 0 },
		      { "cpu>5%", 0 },
		      { "memory>5%", 0 },
		      { "memory>5M", 0 },
		      { "time=10:00-11:00", 0 },
		      { "crash", 0 },
		      { "signal=1", 0 },
		      { "exit", 0 },
		      { "manual", 0 } };

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct ada_trigger *trigger = good(cases[i].text);

		assert_int_equal(ada_trigger_flags(trigger), cases[i].flags);
		ada_trigger_free(trigger);
	}
}

static void ticks(void **state)
{
	struct ada_rule rule = rule_of("latency=f>50ms@limit=5/min,after=3,every=4", 0);

	assert_int_equal(rule.kind, ADA_RULE_LATENCY);
	assert_int_equal(rule.flags, ADA_RULE_ENABLED);
	assert_int_equal(rule.op, ADA_OP_GT);
	assert_true(rule.operand.u == 125000000);
	assert_true(rule.limit == 5 && rule.limit_ticks == 150000000000 && rule.after == 3 && rule.every == 4);
	rule = rule_of("cpu=f>50ms", 0);
	assert_true(rule.operand.u == 50000000); /* CPU time is in ns */
	rule = rule_of("p99.9=f>2us", 0);
	assert_true(rule.operand.u == 5000 && rule.percentile == 99900 && rule.over == 1000);
	rule = rule_of("rate=f>10/s", 0);
	assert_true(rule.operand.u == 10 && rule.per_ticks == 2500000000);
	rule = rule_of("depth>10", 0);
	assert_true(rule.operand.u == 10 && rule.flags == (ADA_RULE_ENABLED | ADA_RULE_GLOBAL));
	rule = rule_of("memory>1M", 0);
	assert_true(rule.kind == ADA_RULE_MEMORY_BYTES && rule.operand.u == 1 << 20);
	rule = rule_of("cpu>50%", 0);
	assert_true(rule.kind == ADA_RULE_CPU_SHARE && rule.operand.f == 0.5);
	rule = rule_of("signal=1,3", 0);
	assert_true(rule.signals == 5);
	rule = rule_of("exception=std::*", 0);
	assert_string_equal(rule.name, "std::*");
	assert_int_equal(rule.flags, ADA_RULE_ENABLED);
	rule = rule_of("arg=f:4>1", ADA_VALUE_U16);
	assert_true(rule.argument == 4 && rule.type == ADA_VALUE_U16);
}

/* The recorder's rolls hold where the rule gives none; a rule that gives one gives it wholly. */
static void own_rolls(void **state)
{
	struct ada_rule rule = rule_of("crash", 0);

	assert_true(rule.pre_ticks == 12500 && rule.pre_events == 7 && rule.post_ticks == 15000 && rule.post_events == 8);
	rule = rule_of("crash@pre=1us", 0);
	assert_true(rule.pre_ticks == 2500 && rule.pre_events == 0 && rule.post_ticks == 15000 && rule.post_events == 8);
	rule = rule_of("crash@post=3ev,pre=0s", 0);
	assert_true(rule.pre_ticks == 0 && rule.pre_events == 0 && rule.post_ticks == 0 && rule.post_events == 3);
	rule = rule_of("crash@pre=24h", 0);
	assert_true(rule.pre_ticks == 216000000000000);
}

/* Operands are 64 bits wide, of whatever width the values are. */
static void operands(void **state)
{
	static const struct {
		const char *text;
		enum ada_value_type type;
		enum ada_rule_op op;
		uint64_t operand;
	} cases[] = {
		{ "return=f<0", ADA_VALUE_I32, ADA_OP_LT, 0 },
		{ "return=f==-1", ADA_VALUE_I32, ADA_OP_EQ, UINT64_MAX },
		{ "return=f==-1", ADA_VALUE_U64, ADA_OP_EQ, UINT64_MAX }, /* mmap's MAP_FAILED */
		{ "return=f==-1", ADA_VALUE_U32, ADA_OP_EQ, UINT32_MAX },
		{ "return=f!=-1", ADA_VALUE_U8, ADA_OP_NE, 255 },
		{ "return=f==0xffffffff", ADA_VALUE_I32, ADA_OP_EQ, UINT64_MAX },
		{ "return=f==0xffff", ADA_VALUE_I16, ADA_OP_EQ, UINT64_MAX },
		{ "return=f==0x7fffffff", ADA_VALUE_I32, ADA_OP_EQ, 0x7fffffff },
		{ "return=f==0xffffffff", ADA_VALUE_I64, ADA_OP_EQ, UINT32_MAX },
		{ "return=f>0xffffffff", ADA_VALUE_I32, ADA_OP_GT, UINT32_MAX }, /* never */
		{ "return=f<-1", ADA_VALUE_U64, ADA_OP_LT, 0 },			 /* never */
		{ "return=f<=-5", ADA_VALUE_U32, ADA_OP_LT, 0 },
		{ "return=f>-1", ADA_VALUE_U64, ADA_OP_GE, 0 }, /* always */
		{ "return=f>0xfffffffffffffff0", ADA_VALUE_U64, ADA_OP_GT, 0xfffffffffffffff0 },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct ada_rule rule = rule_of(cases[i].text, cases[i].type);

		assert_int_equal(rule.type, cases[i].type);
		assert_int_equal(rule.op, cases[i].op);
		assert_true(rule.operand.u == cases[i].operand);
	}
}

static void real_operands(void **state)
{
	struct ada_rule rule = rule_of("return=f<0.5", ADA_VALUE_I32);

	assert_true(rule.type == ADA_VALUE_F64 && rule.operand.f == 0.5);
	rule = rule_of("return=f<0.5", ADA_VALUE_F32);
	assert_true(rule.type == ADA_VALUE_F32 && rule.operand.f == 0.5);
	rule = rule_of("return=f<-2", ADA_VALUE_F64);
	assert_true(rule.type == ADA_VALUE_F64 && rule.operand.f == -2.0);
	rule = rule_of("return=f<2@float", ADA_VALUE_I32);
	assert_true(rule.type == ADA_VALUE_F32 && rule.operand.f == 2.0);
	rule = rule_of("return=f<2@long", ADA_VALUE_I32);
	assert_true(rule.type == ADA_VALUE_I64 && rule.operand.i == 2);
}

/* A long pre-roll and a fast counter don't wrap. */
static void no_overflow(void **state)
{
	struct ada_trigger *trigger = good("crash@pre=24h");
	struct ada_rule rule;

	ada_trigger_rule(trigger, 1e9, &no_rolls, 0, &rule);
	assert_true(rule.pre_ticks == INT64_MAX && rule.post_ticks == 0);
	ada_trigger_free(trigger);
}

static uint64_t left_ns(uint32_t from_minute, uint32_t to_minute, uint64_t wall_ns)
{
	struct ada_trigger trigger = { .from_minute = from_minute, .to_minute = to_minute };

	return ada_trigger_left_ns(&trigger, wall_ns);
}

/* Of 2 March 2026, in the zone that TZ names. */
static uint64_t at(int hour, int minute)
{
	struct tm local = { .tm_year = 126, .tm_mon = 2, .tm_mday = 2, .tm_hour = hour, .tm_min = minute, .tm_isdst = -1 };

	return (uint64_t)mktime(&local) * SECOND_NS;
}

static void left_of_an_interval(void **state)
{
	uint32_t from = 10 * 60 + 30, to = 10 * 60 + 45;

	setenv("TZ", "Europe/Berlin", 1);
	tzset();
	assert_int_equal(left_ns(from, to, at(10, 29)), 0);
	assert_int_equal(left_ns(from, to, at(10, 30)), 15 * MINUTE * SECOND_NS);
	assert_int_equal(left_ns(from, to, at(10, 44) + SECOND_NS / 2), MINUTE * SECOND_NS - SECOND_NS / 2);
	assert_int_equal(left_ns(from, to, at(10, 45)), 0);
}

static void left_over_midnight(void **state)
{
	uint32_t from = 23 * 60 + 50, to = 10;

	assert_int_equal(left_ns(from, to, at(23, 49)), 0);
	assert_int_equal(left_ns(from, to, at(23, 50)), 20 * MINUTE * SECOND_NS);
	assert_int_equal(left_ns(from, to, at(0, 5)), 5 * MINUTE * SECOND_NS);
	assert_int_equal(left_ns(from, to, at(0, 10)), 0);
	assert_int_equal(left_ns(from, to, at(12, 0)), 0);
}

/* On 29 March 2026 Berlin's clocks go from 2 to 3: an interval from 1 to 4 lasts two hours. */
static void left_of_a_day_of_23_hours(void **state)
{
	struct tm local = { .tm_year = 126, .tm_mon = 2, .tm_mday = 29, .tm_hour = 1, .tm_isdst = -1 };

	if (access("/usr/share/zoneinfo/Europe/Berlin", R_OK))
		test_skip("needs the time zones of tzdata");
	setenv("TZ", "Europe/Berlin", 1);
	tzset();
	assert_int_equal(left_ns(60, 240, (uint64_t)mktime(&local) * SECOND_NS), 2 * HOUR * SECOND_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(flags),
					    cmocka_unit_test(ticks),
					    cmocka_unit_test(own_rolls),
					    cmocka_unit_test(operands),
					    cmocka_unit_test(real_operands),
					    cmocka_unit_test(no_overflow),
					    cmocka_unit_test(left_of_an_interval),
					    cmocka_unit_test(left_over_midnight),
					    cmocka_unit_test(left_of_a_day_of_23_hours) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
