/* Every kind of rule: what it becomes. */
#include "rules.h"
#include <signal.h>

/* The one pattern of a rule is a literal name. */
static void names_one(const struct ada_trigger *trigger, const char *name)
{
	assert_int_equal(trigger->patterns.count, 1);
	pattern_is(trigger, 0, ADA_PATTERN_LITERAL, name);
}

static void symbol(void **state)
{
	struct ada_trigger *trigger = good("symbol=malloc,free*,re:^a(b,c)>");

	assert_int_equal(trigger->kind, ADA_RULE_SYMBOL);
	assert_int_equal(trigger->patterns.count, 3);
	pattern_is(trigger, 0, ADA_PATTERN_LITERAL, "malloc");
	pattern_is(trigger, 1, ADA_PATTERN_GLOB, "free*");
	pattern_is(trigger, 2, ADA_PATTERN_REGEX, "^a(b,c)>");
	assert_int_equal(trigger->op, ADA_OP_NONE);
	assert_int_equal(trigger->unit, ADA_TRIGGER_NO_VALUE);
	assert_string_equal(trigger->kind_text, "symbol:malloc,free*,re:^a(b,c)>");
	assert_string_equal(trigger->pattern_text, "malloc,free*,re:^a(b,c)>");
	ada_trigger_free(trigger);
}

static void results(void **state)
{
	static const struct {
		const char *text, *name;
		enum ada_rule_op op;
		int64_t value;
		bool negative;
	} cases[] = {
		{ "return=open<0", "open", ADA_OP_LT, 0, false },
		{ "return=malloc==0", "malloc", ADA_OP_EQ, 0, false },
		{ "return=mmap==-1", "mmap", ADA_OP_EQ, -1, true },
		{ "return = f != 0x10", "f", ADA_OP_NE, 16, false },
		{ "return=f>=-9223372036854775808", "f", ADA_OP_GE, INT64_MIN, true },
		{ "return=f<=0xffffffffffffffff", "f", ADA_OP_LE, -1, false },
		{ "return=f>+3K", "f", ADA_OP_GT, 3072, false },
		{ "return=operator<<0", "operator<", ADA_OP_LT, 0, false },
		{ "return=operator<=<0", "operator<=", ADA_OP_LT, 0, false },
		{ "return=operator==!=1", "operator==", ADA_OP_NE, 1, false },
		{ "return=S::operator+=>1", "S::operator+=", ADA_OP_GT, 1, false },
		{ "return=operator!>1", "operator!", ADA_OP_GT, 1, false },
		{ "return=operator->>1", "operator->", ADA_OP_GT, 1, false },
		{ "return=operator<=>>1", "operator<=>", ADA_OP_GT, 1, false },
		{ "return=f<int>>1", "f<int>", ADA_OP_GT, 1, false },
		{ "return='f>'>1", "f>", ADA_OP_GT, 1, false },
		{ "return='operator='==1", "operator=", ADA_OP_EQ, 1, false },
		{ "return=ns::f<int, (char)62>(a)>5", "ns::f<int, (char)62>(a)", ADA_OP_GT, 5, false },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct ada_trigger *trigger = good(cases[i].text);

		assert_int_equal(trigger->kind, ADA_RULE_RETURN);
		names_one(trigger, cases[i].name);
		assert_int_equal(trigger->op, cases[i].op);
		assert_int_equal(trigger->unit, ADA_TRIGGER_INTEGER);
		assert_true(trigger->integer == cases[i].value && trigger->negative == cases[i].negative);
		assert_false(trigger->type_given);
		ada_trigger_free(trigger);
	}
}

static void real_results(void **state)
{
	static const struct {
		const char *text;
		double value;
		bool given;
		enum ada_value_type type;
	} cases[] = { { "return=f<0.5", 0.5, false, 0 },
		      { "return=f>-1e3", -1000, false, 0 },
		      { "return=f>1@double", 1, true, ADA_VALUE_F64 },
		      { "return=f==2.25@float", 2.25, true, ADA_VALUE_F32 } };

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct ada_trigger *trigger = good(cases[i].text);

		assert_int_equal(trigger->unit, ADA_TRIGGER_REAL);
		assert_true(trigger->real == cases[i].value);
		assert_int_equal(trigger->type_given, cases[i].given);
		assert_int_equal(trigger->type, cases[i].type);
		ada_trigger_free(trigger);
	}
}

static void arguments(void **state)
{
	struct ada_trigger *trigger = good("arg=read,ns::pread:3>1048576");

	assert_int_equal(trigger->kind, ADA_RULE_ARG);
	assert_int_equal(trigger->argument, 3);
	assert_int_equal(trigger->op, ADA_OP_GT);
	assert_true(trigger->integer == 1 << 20);
	pattern_is(trigger, 0, ADA_PATTERN_LITERAL, "read");
	pattern_is(trigger, 1, ADA_PATTERN_LITERAL, "ns::pread");
	ada_trigger_free(trigger);
}

/* Kinds that compare a duration, and how "not below" becomes "above" where only that is known. */
static void durations(void **state)
{
	static const struct {
		const char *text;
		enum ada_rule_kind kind;
		enum ada_rule_op op;
		int64_t ns;
	} cases[] = {
		{ "latency=function:F>50ms", ADA_RULE_LATENCY, ADA_OP_GT, 50000000 },
		{ "latency=F>=1.5us", ADA_RULE_LATENCY, ADA_OP_GE, 1500 },
		{ "latency=F<2min", ADA_RULE_LATENCY, ADA_OP_LT, 120000000000 },
		{ "latency=F<=24h", ADA_RULE_LATENCY, ADA_OP_LE, 86400000000000 },
		{ "cpu=function:F>10ms", ADA_RULE_CPU, ADA_OP_GT, 10000000 },
		{ "cpu=F<1ns", ADA_RULE_CPU, ADA_OP_LT, 1 },
		{ "p50=F>0.1s", ADA_RULE_PERCENTILE, ADA_OP_GT, 100000000 },
		{ "p99=F>=1s", ADA_RULE_PERCENTILE, ADA_OP_GT, 999999999 },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct ada_trigger *trigger = good(cases[i].text);

		assert_int_equal(trigger->kind, cases[i].kind);
		names_one(trigger, "F");
		assert_int_equal(trigger->op, cases[i].op);
		assert_int_equal(trigger->unit, ADA_TRIGGER_NS);
		assert_true(trigger->integer == cases[i].ns);
		ada_trigger_free(trigger);
	}
}

static void spans(void **state)
{
	struct ada_trigger *plain = good("latency=submit:1..complete:2>50ms@every=2");
	struct ada_trigger *lists = good("latency=function:a,ns::b*:6 .. function:'c..d',re:/^e.:1../:3<=1s@ulong");
	struct ada_trigger *call = good("latency=operator..>1ms");

	assert_int_equal(plain->kind, ADA_RULE_SPAN);
	assert_int_equal(plain->begins, 1);
	assert_int_equal(plain->patterns.count, 2);
	assert_string_equal(plain->patterns.items[0].text, "submit");
	assert_string_equal(plain->patterns.items[1].text, "complete");
	assert_int_equal(plain->begin_argument, 1);
	assert_int_equal(plain->argument, 2);
	assert_true(plain->op == ADA_OP_GT && plain->unit == ADA_TRIGGER_NS && plain->integer == 50000000);
	assert_string_equal(plain->kind_text, "latency:submit:1..complete:2>50ms");
	assert_int_equal(lists->begins, 2);
	assert_int_equal(lists->patterns.count, 4);
	assert_string_equal(lists->patterns.items[1].text, "ns::b*");
	assert_string_equal(lists->patterns.items[2].text, "c..d");
	assert_string_equal(lists->patterns.items[3].text, "^e.:1..");
	assert_int_equal(lists->begin_argument, 6);
	assert_int_equal(lists->argument, 3);
	assert_true(lists->type_given && lists->type == ADA_VALUE_U64);
	assert_int_equal(call->kind, ADA_RULE_LATENCY);
	ada_trigger_free(plain);
	ada_trigger_free(lists);
	ada_trigger_free(call);
}

/* The form of what begins has the rule's slot for its table, and each form its own argument and type. */
static void spans_have_two_forms(void **state)
{
	static const struct ada_rolls none;
	struct ada_trigger *trigger = good("latency=submit:3..complete:1>50ms");
	struct ada_rule ends, begins;

	ada_trigger_rule(trigger, 2.0, &none, ADA_VALUE_I32, &ends);
	ends.incarnation = 9;
	ada_trigger_begin_rule(trigger, &ends, ADA_VALUE_U64, 5, &begins);
	assert_int_equal(ends.kind, ADA_RULE_SPAN);
	assert_int_equal(ends.argument, 1);
	assert_int_equal(ends.type, ADA_VALUE_I32);
	assert_true(ends.operand.u == 100000000);
	assert_int_equal(begins.kind, ADA_RULE_SPAN_BEGIN);
	assert_int_equal(begins.argument, 3);
	assert_int_equal(begins.type, ADA_VALUE_U64);
	assert_int_equal(begins.span, 5);
	assert_int_equal(begins.incarnation, 9);
	assert_int_equal(ada_trigger_flags(trigger), ADA_POLICY_CALL);
	ada_trigger_free(trigger);
}

static void percentiles(void **state)
{
	static const struct {
		const char *text;
		uint32_t percentile;
		uint64_t over;
	} cases[] = { { "p50=F>1ms", 50000, 1000 },
		      { "p99=F>1ms@over=65536", 99000, 65536 },
		      { "p99.9=F>1ms@over=1000", 99900, 1000 },
		      { "p90.25=F>1ms@over=11", 90250, 11 },
		      { "p50=F>1ms@over=2", 50000, 2 } };

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct ada_trigger *trigger = good(cases[i].text);

		assert_int_equal(trigger->percentile, cases[i].percentile);
		assert_int_equal(trigger->over, cases[i].over);
		ada_trigger_free(trigger);
	}
}

static void rates(void **state)
{
	static const struct {
		const char *text;
		int64_t calls;
		uint64_t ns;
	} cases[] = { { "rate=function:F>1000/s", 1000, 1000000000 },
		      { "rate=F>=1000/ms", 999, 1000000 },
		      { "rate=F>3/min", 3, 60000000000 },
		      { "rate=F > 3 / 10s", 3, 10000000000 } };

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct ada_trigger *trigger = good(cases[i].text);

		assert_int_equal(trigger->kind, ADA_RULE_RATE);
		names_one(trigger, "F");
		assert_int_equal(trigger->op, ADA_OP_GT);
		assert_int_equal(trigger->unit, ADA_TRIGGER_RATE);
		assert_true(trigger->integer == cases[i].calls && trigger->per_ns == cases[i].ns);
		ada_trigger_free(trigger);
	}
}

static void depths(void **state)
{
	struct ada_trigger *all = good("depth>200"), *one = good("depth=function:F>=20");

	assert_int_equal(all->kind, ADA_RULE_DEPTH);
	assert_int_equal(all->patterns.count, 0);
	assert_true(all->integer == 200);
	assert_string_equal(all->kind_text, "depth>200");
	assert_string_equal(all->pattern_text, "");
	assert_int_equal(one->kind, ADA_RULE_DEPTH);
	names_one(one, "F");
	assert_true(one->integer == 19 && one->op == ADA_OP_GT);
	assert_string_equal(one->kind_text, "depth:function:F>=20");
	ada_trigger_free(all);
	ada_trigger_free(one);
}

static void new_caller(void **state)
{
	struct ada_trigger *trigger = good("new-caller=F@after=100");

	assert_int_equal(trigger->kind, ADA_RULE_NEW_CALLER);
	names_one(trigger, "F");
	assert_int_equal(trigger->after, 100);
	assert_string_equal(trigger->kind_text, "new-caller:F");
	ada_trigger_free(trigger);
}

static void shares(void **state)
{
	static const struct {
		const char *text;
		enum ada_rule_kind kind;
		double share;
	} cases[] = { { "cpu>90%", ADA_RULE_CPU_SHARE, 0.9 },
		      { "cpu>350%", ADA_RULE_CPU_SHARE, 3.5 },
		      { "cpu > 0.5 %", ADA_RULE_CPU_SHARE, 0.005 },
		      { "memory>90%", ADA_RULE_MEMORY_SHARE, 0.9 },
		      { "memory>99.5%", ADA_RULE_MEMORY_SHARE, 0.995 } };

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct ada_trigger *trigger = good(cases[i].text);

		assert_int_equal(trigger->kind, cases[i].kind);
		assert_int_equal(trigger->patterns.count, 0);
		assert_int_equal(trigger->unit, ADA_TRIGGER_SHARE);
		assert_true(trigger->real == cases[i].share);
		ada_trigger_free(trigger);
	}
}

static void memory(void **state)
{
	static const struct {
		const char *text;
		int64_t bytes;
	} cases[] = { { "memory>2G", 2ll << 30 }, { "memory>=1.5KiB", 1536 }, { "memory>100B", 100 } };

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct ada_trigger *trigger = good(cases[i].text);

		assert_int_equal(trigger->kind, ADA_RULE_MEMORY_BYTES);
		assert_int_equal(trigger->unit, ADA_TRIGGER_BYTES);
		assert_true(trigger->integer == cases[i].bytes);
		ada_trigger_free(trigger);
	}
}

static void times(void **state)
{
	static const struct {
		const char *text;
		uint32_t from, to;
	} cases[] = { { "time=10:30-10:45", 630, 645 },
		      { "time=22:00-06:00", 1320, 360 },
		      { "time=10:00-24:00", 600, 0 },
		      { "time=23:59 - 00:00", 1439, 0 } };

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct ada_trigger *trigger = good(cases[i].text);

		assert_int_equal(trigger->kind, ADA_RULE_TIME);
		assert_int_equal(trigger->from_minute, cases[i].from);
		assert_int_equal(trigger->to_minute, cases[i].to);
		ada_trigger_free(trigger);
	}
}

static uint64_t bit(int number)
{
	return (uint64_t)1 << (number - 1);
}

static void signals(void **state)
{
	const struct {
		const char *text;
		uint64_t signals;
	} cases[] = { { "signal=SIGSEGV,SIGABRT", bit(SIGSEGV) | bit(SIGABRT) },
		      { "signal=usr1", bit(SIGUSR1) },
		      { "signal=SigPipe , 15", bit(SIGPIPE) | bit(15) },
		      { "signal=SIGRTMIN", bit(SIGRTMIN) },
		      { "signal=RTMIN+2", bit(SIGRTMIN + 2) },
		      { "signal=SIGRTMAX-1,SIGRTMAX", bit(63) | bit(64) },
		      { "signal=SIGIOT,CLD,SIGPOLL", bit(SIGABRT) | bit(SIGCHLD) | bit(SIGIO) } };

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct ada_trigger *trigger = good(cases[i].text);

		assert_int_equal(trigger->kind, ADA_RULE_SIGNAL);
		assert_true(trigger->signals == cases[i].signals);
		ada_trigger_free(trigger);
	}
}

static void plain(void **state)
{
	static const struct {
		const char *text;
		enum ada_rule_kind kind;
	} cases[] = { { "crash", ADA_RULE_CRASH }, { "exit", ADA_RULE_EXIT }, { " manual ", ADA_RULE_MANUAL } };

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct ada_trigger *trigger = good(cases[i].text);

		assert_int_equal(trigger->kind, cases[i].kind);
		assert_int_equal(trigger->patterns.count, 0);
		assert_string_equal(trigger->pattern_text, "");
		assert_null(strchr(trigger->kind_text, ' '));
		ada_trigger_free(trigger);
	}
}

/* A throw is one call of one of these; which are offered names as compilers give them. */
static void exceptions(void **state)
{
	static const char *const panics[] = { "_RNvNtCsjrHSEGnQ3l9_3std9panicking15panic_with_hook",
					      "_ZN3std9panicking20rust_panic_with_hook17h0123456789abcdefE" };
	static const char *const others[] = { "__cxa_rethrow",
					      "_Unwind_RaiseException",
					      "panic_with_hook",
					      "rust_panic",
					      "_RNvCs9TDVNJCXvHO_7___rustc10rust_panic",
					      "_ZN3std9panicking10rust_panic17h0123456789abcdefE" };
	struct ada_trigger *all = good("exception"), *one = good("exception=std::bad_*@label=x");
	struct ada_names names;

	assert_int_equal(all->kind, ADA_RULE_EXCEPTION);
	assert_string_equal(all->exception, "");
	assert_string_equal(one->exception, "std::bad_*");
	ada_names_open(&names, "__cxa_throw", NULL);
	assert_true(ada_trigger_sides(all, &names));
	assert_true(ada_trigger_sides(one, &names));
	ada_names_close(&names);
	for (size_t i = 0; i < sizeof panics / sizeof *panics; i++) {
		ada_names_open(&names, panics[i], NULL);
		assert_true(ada_trigger_sides(all, &names));
		assert_false(ada_trigger_sides(one, &names));
		ada_names_close(&names);
	}
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		ada_names_open(&names, others[i], NULL);
		assert_false(ada_trigger_sides(all, &names));
		ada_names_close(&names);
	}
	ada_trigger_free(all);
	ada_trigger_free(one);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(symbol),
					    cmocka_unit_test(results),
					    cmocka_unit_test(real_results),
					    cmocka_unit_test(arguments),
					    cmocka_unit_test(durations),
					    cmocka_unit_test(spans),
					    cmocka_unit_test(spans_have_two_forms),
					    cmocka_unit_test(percentiles),
					    cmocka_unit_test(rates),
					    cmocka_unit_test(depths),
					    cmocka_unit_test(new_caller),
					    cmocka_unit_test(shares),
					    cmocka_unit_test(memory),
					    cmocka_unit_test(times),
					    cmocka_unit_test(signals),
					    cmocka_unit_test(plain),
					    cmocka_unit_test(exceptions) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
