/* Options of rules. */
#include "rules.h"

static void every_option(void **state)
{
	struct ada_trigger *trigger = good("symbol=a@nocase,pre=5s|1000ev,post=3ms,limit=5/min@after=100,every=10,label='a, @ b'");

	assert_true(trigger->nocase && trigger->pre_given && trigger->post_given);
	assert_true(trigger->pre_ns == 5000000000 && trigger->pre_events == 1000);
	assert_true(trigger->post_ns == 3000000 && trigger->post_events == 0);
	assert_true(trigger->limit == 5 && trigger->limit_ns == 60000000000);
	assert_true(trigger->after == 100 && trigger->every == 10);
	assert_string_equal(trigger->label, "a, @ b");
	assert_string_equal(trigger->kind_text, "symbol:a");
	assert_string_equal(trigger->pattern_text, "a");
	ada_trigger_free(trigger);
}

static void no_option(void **state)
{
	struct ada_trigger *trigger = good("symbol=a");

	assert_false(trigger->nocase || trigger->pre_given || trigger->post_given || trigger->type_given);
	assert_true(!trigger->after && !trigger->every && !trigger->limit && !trigger->over);
	assert_null(trigger->label);
	ada_trigger_free(trigger);
}

static void rolls(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns, events;
	} cases[] = { { "crash@pre=0s", 0, 0 },
		      { "crash@pre=0ev", 0, 0 },
		      { "crash@pre=1000ev|1.5s", 1500000000, 1000 },
		      { "crash@pre = 24h", 86400000000000, 0 },
		      { "manual@pre=100000000ev", 0, 100000000 },
		      { "time=10:00-11:00@pre=7 ev", 0, 7 } };

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct ada_trigger *trigger = good(cases[i].text);

		assert_true(trigger->pre_given && !trigger->post_given);
		assert_true(trigger->pre_ns == cases[i].ns && trigger->pre_events == cases[i].events);
		ada_trigger_free(trigger);
	}
}

static void types(void **state)
{
	static const struct {
		const char *name;
		enum ada_value_type type;
	} cases[] = { { "char", ADA_VALUE_I8 },	   { "uchar", ADA_VALUE_U8 }, { "bool", ADA_VALUE_U8 },	  { "short", ADA_VALUE_I16 },
		      { "ushort", ADA_VALUE_U16 }, { "int", ADA_VALUE_I32 },  { "uint", ADA_VALUE_U32 },  { "long", ADA_VALUE_I64 },
		      { "ulong", ADA_VALUE_U64 },  { "ptr", ADA_VALUE_U64 },  { "float", ADA_VALUE_F32 }, { "double", ADA_VALUE_F64 } };

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct ada_trigger *trigger;
		char text[64];

		snprintf(text, sizeof text, "return=f==1@%s,every=2", cases[i].name);
		trigger = good(text);
		assert_true(trigger->type_given);
		assert_int_equal(trigger->type, cases[i].type);
		ada_trigger_free(trigger);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_option), cmocka_unit_test(no_option), cmocka_unit_test(rolls),
					    cmocka_unit_test(types) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
