/* The policy: rules, slots and versions; numbers, classes and flags in the tables of providers. */
#include "../test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "policy_fixture.h"

static const struct ada_policy_table *in_force(const struct ada_provider *provider)
{
	const struct ada_shm *shm = provider->segment.shm;

	return (const void *)((const uint8_t *)&shm->policy_flags + shm->policy_flags - ADA_POLICY_FLAGS);
}

static struct ada_rule_state *state_of(const struct ada_provider *provider, uint32_t slot)
{
	return ada_policy_state(provider->segment.policy, slot);
}

static void add(struct ada_policy *policy, const char *text, uint32_t *id)
{
	struct ada_error error = { "" };

	assert_int_equal(ada_policy_add(policy, text, id, &error), 0);
}

static void drop(struct ada_policy *policy, uint32_t id)
{
	struct ada_error error = { "" };

	assert_int_equal(ada_policy_remove(policy, id, &error), 0);
}

static void close_all(struct ada_policy *policy, struct ada_provider *one, struct ada_provider *other)
{
	if (one)
		policy_provider_close(policy, one);
	if (other)
		policy_provider_close(policy, other);
	ada_policy_close(policy);
	free(one);
	free(other);
}

static void without_rules_crash_and_manual(void **state)
{
	struct ada_policy *policy = policy_open(NULL);
	struct ada_provider *provider = policy_provider(policy, NULL);
	struct ada_rule_info rules[ADA_RULES_MAX];

	assert_int_equal(ada_policy_rules(policy, rules, ADA_RULES_MAX), 2);
	assert_int_equal(rules[0].trigger->kind, ADA_RULE_CRASH);
	assert_int_equal(rules[1].trigger->kind, ADA_RULE_MANUAL);
	assert_int_equal(in_force(provider)->version, 1);
	assert_int_equal(in_force(provider)->crash_rules, 1);
	assert_int_equal(in_force(provider)->rules[0].kind, ADA_RULE_CRASH);
	assert_int_equal(in_force(provider)->rules[2].kind, 0);
	assert_int_equal(in_force(provider)->rules[0].pre_ticks, 10000); /* of the options: 5000 ns, 2 ticks each */
	assert_int_equal(in_force(provider)->rules[0].post_events, ADA_ROLL_EVENTS_DEFAULT);
	close_all(policy, provider, NULL);
}

static void errors_name_their_origin(void **state)
{
	struct ada_trace_options options = { 0 };
	struct ada_error error = { "" };
	struct ada_policy *policy;

	ada_array_push(&options.triggers, "symbol=malloc");
	ada_array_push(&options.triggers, "nonsense=1");
	ada_array_push(&options.trigger_origins, "--trigger");
	ada_array_push(&options.trigger_origins, "rules.txt:7");
	assert_int_equal(ada_policy_open(&policy, &options, 1, &error), -EINVAL);
	assert_memory_equal(error.text, "rules.txt:7", 11);
	options.triggers.count = 0;
	for (int i = 0; i < 65; i++)
		ada_array_push(&options.triggers, "manual");
	error.text[0] = 0;
	assert_int_equal(ada_policy_open(&policy, &options, 1, &error), -EINVAL);
	assert_non_null(strstr(error.text, "65 rules, of at most 64"));
	free(options.triggers.items);
	free(options.trigger_origins.items);
}

static void numbers_are_dense_over_modules(void **state)
{
	struct ada_policy *policy = policy_open(POLICY_RULES("crash", "symbol=ada_test_alpha", "return=ada_test_*<0"));
	struct ada_provider *provider = policy_provider(policy, NULL);
	struct ada_plan *plan = policy_plan(false);
	uint32_t alpha = policy_function(plan, "ada_test_alpha"), beta = policy_function(plan, "ada_test_beta");
	uint32_t base = ada_policy_module(policy, provider, 3, "/proc/self/exe", plan);
	struct policy_decision a, b;

	assert_int_equal(base, 1);
	a = policy_decide(provider->segment.shm, base + alpha);
	b = policy_decide(provider->segment.shm, base + beta);
	assert_int_equal(a.mask, 6);
	assert_int_equal(a.flags, ADA_POLICY_CALL | ADA_POLICY_RETURN);
	assert_int_equal(b.mask, 4);
	assert_int_equal(b.flags, ADA_POLICY_RETURN);
	assert_int_equal(policy_decide(provider->segment.shm, 0).flags, 0);
	assert_int_equal(policy_decide(provider->segment.shm, base + policy_function(plan, "main")).mask, 0);
	assert_int_equal(in_force(provider)->functions, ada_plan_header(plan)->function_count);
	/* The same file once more, as after dlclose and dlopen: the same numbers. */
	assert_int_equal(ada_policy_module(policy, provider, 9, "/proc/self/exe", plan), base);
	assert_int_equal(policy_decide(provider->segment.shm, base + alpha).mask, 6);
	close_all(policy, provider, NULL);
	ada_plan_close(plan);
}

static void a_module_extends_the_table_in_place(void **state)
{
	struct ada_policy *policy = policy_open(POLICY_RULES("symbol=ada_test_alpha,malloc"));
	struct ada_provider *provider = policy_provider(policy, NULL);
	struct ada_plan *plan = policy_plan(false), *libc;
	struct ada_plan_options names = { .no_cache = true };
	struct ada_error error = { "" };
	uint32_t first, second;
	const struct ada_policy_table *table;
	uint64_t generation;

	assert_int_equal(ada_plan_open(&libc, "/lib/x86_64-linux-gnu/libc.so.6", &names, &error), 0);
	first = ada_policy_module(policy, provider, 0, "/proc/self/exe", plan);
	table = in_force(provider);
	generation = table->generation;
	second = ada_policy_module(policy, provider, 1, "/lib/x86_64-linux-gnu/libc.so.6", libc);
	assert_int_equal(second, first + ada_plan_header(plan)->function_count);
	assert_ptr_equal(in_force(provider), table);
	assert_int_equal(table->generation, generation);
	assert_int_equal(policy_decide(provider->segment.shm, second + policy_function(libc, "malloc")).flags, ADA_POLICY_CALL);
	assert_int_equal(policy_decide(provider->segment.shm, second + policy_function(libc, "free")).flags, 0);
	assert_int_equal(policy_decide(provider->segment.shm, first + policy_function(plan, "ada_test_alpha")).flags, ADA_POLICY_CALL);
	close_all(policy, provider, NULL);
	ada_plan_close(plan);
	ada_plan_close(libc);
}

/* A rule's value is read as the first function that it names returns: the table says so from then on. */
static void types_come_with_the_module(void **state)
{
	struct ada_policy *policy = policy_open(POLICY_RULES("return=malloc==0", "return=malloc==0@int"));
	struct ada_provider *provider = policy_provider(policy, NULL);
	struct ada_plan *libc;
	struct ada_plan_options names = { .no_cache = true };
	struct ada_error error = { "" };

	assert_int_equal(ada_plan_open(&libc, "/lib/x86_64-linux-gnu/libc.so.6", &names, &error), 0);
	assert_int_equal(in_force(provider)->rules[0].type, ADA_VALUE_I32);
	ada_policy_module(policy, provider, 1, "/lib/x86_64-linux-gnu/libc.so.6", libc);
	assert_int_equal(in_force(provider)->rules[0].type, ada_value_type_of("/lib/x86_64-linux-gnu/libc.so.6", "malloc", 0));
	assert_int_equal(in_force(provider)->rules[1].type, ADA_VALUE_I32);
	assert_int_equal(in_force(provider)->rules[0].incarnation, 1);
	close_all(policy, provider, NULL);
	ada_plan_close(libc);
}

static void live_rules_make_versions(void **state)
{
	struct ada_policy *policy = policy_open(POLICY_RULES("crash"));
	struct ada_provider *provider = policy_provider(policy, NULL);
	struct ada_plan *plan = policy_plan(false);
	uint32_t id, base = ada_policy_module(policy, provider, 0, "/proc/self/exe", plan);
	uint32_t alpha = base + policy_function(plan, "ada_test_alpha");
	char before[17], with[17], after[17];
	struct ada_rule_info info;
	struct ada_error error = { "" };

	ada_policy_hash(policy, 1, before);
	add(policy, "symbol=ada_test_alpha@label=x", &id);
	assert_int_equal(id, 2);
	assert_int_equal(ada_policy_version(policy), 2);
	assert_int_equal(policy_decide(provider->segment.shm, alpha).mask, 2);
	assert_int_equal(policy_decide(provider->segment.shm, alpha).version, 2);
	drop(policy, id);
	assert_int_equal(policy_decide(provider->segment.shm, alpha).mask, 0);
	assert_int_equal(policy_decide(provider->segment.shm, alpha).flags, 0);
	assert_int_equal(policy_decide(provider->segment.shm, alpha).version, 3);
	ada_policy_hash(policy, 2, with);
	ada_policy_hash(policy, 3, after);
	assert_string_equal(before, after);
	assert_string_not_equal(before, with);
	assert_true(ada_policy_rule(policy, 2, 1, &info));
	assert_string_equal(info.trigger->label, "x");
	assert_int_equal(info.until, 3);
	assert_false(ada_policy_rule(policy, 3, 1, &info));
	assert_false(ada_policy_rule(policy, 1, 1, &info));
	assert_int_equal(ada_policy_remove(policy, id, &error), -ENOENT);
	assert_int_equal(ada_policy_remove(policy, 77, &error), -ENOENT);
	close_all(policy, provider, NULL);
	ada_plan_close(plan);
}

static void at_most_64_rules(void **state)
{
	struct ada_policy *policy = policy_open(POLICY_RULES("crash"));
	struct ada_error error = { "" };
	struct ada_rule_info info;
	uint32_t id, first = 0;

	for (int i = 1; i < 64; i++) {
		add(policy, "manual", &id);
		first = first ? first : id;
	}
	assert_int_equal(ada_policy_add(policy, "manual", &id, &error), -ENOSPC);
	assert_non_null(strstr(error.text, "64 rules"));
	assert_int_equal(ada_policy_version(policy), 64);
	drop(policy, first);
	add(policy, "exit", &id);
	assert_true(ada_policy_rule(policy, ada_policy_version(policy), 1, &info));
	assert_int_equal(info.id, id);
	assert_int_equal(info.rule.incarnation, 2);
	close_all(policy, NULL, NULL);
}

/* Two slots: what ends in the lower one, what begins in the other, each with the functions of its side; both free again with the rule. */
static void spans_take_two_slots(void **state)
{
	struct ada_policy *policy = policy_open(POLICY_RULES("crash"));
	struct ada_provider *provider = policy_provider(policy, NULL);
	struct ada_plan *plan = policy_plan(true);
	uint32_t base = ada_policy_module(policy, provider, 0, "/proc/self/exe", plan), id, ids[31], manual;
	uint32_t alpha = base + policy_function(plan, "ada_test_alpha"), beta = base + policy_function(plan, "ada_test_beta");
	struct ada_rule_info rules[ADA_RULES_MAX];
	struct ada_error error = { "" };
	const struct ada_rule *forms;

	add(policy, "latency=ada_test_alpha:2..ada_test_beta:1>5ms@ptr", &id);
	forms = in_force(provider)->rules;
	assert_int_equal(forms[1].kind, ADA_RULE_SPAN);
	assert_int_equal(forms[1].argument, 1);
	assert_int_equal(forms[2].kind, ADA_RULE_SPAN_BEGIN);
	assert_int_equal(forms[2].argument, 2);
	assert_int_equal(forms[2].span, 1);
	assert_int_equal(forms[2].incarnation, forms[1].incarnation);
	assert_int_equal(policy_decide(provider->segment.shm, alpha).mask, 4);
	assert_int_equal(policy_decide(provider->segment.shm, beta).mask, 2);
	assert_int_equal(policy_decide(provider->segment.shm, alpha).flags, ADA_POLICY_CALL);
	assert_int_equal(ada_policy_rules(policy, rules, ADA_RULES_MAX), 2);
	drop(policy, id);
	assert_int_equal(policy_decide(provider->segment.shm, alpha).flags, 0);
	for (int i = 0; i < 31; i++)
		add(policy, "latency=ada_test_alpha:1..ada_test_alpha:1>5ms", &ids[i]);
	add(policy, "manual", &manual);
	assert_int_equal(ada_policy_add(policy, "manual", NULL, &error), -ENOSPC);
	drop(policy, manual);
	error.text[0] = '\0';
	assert_int_equal(ada_policy_add(policy, "latency=ada_test_alpha:1..ada_test_beta:1>5ms", NULL, &error), -ENOSPC);
	assert_non_null(strstr(error.text, "each with two functions counts twice"));
	drop(policy, ids[7]);
	add(policy, "latency=ada_test_alpha:1..ada_test_beta:1>5ms", &id);
	for (uint32_t slot = 0; slot < ADA_RULES_MAX; slot++)
		if (in_force(provider)->rules[slot].kind == ADA_RULE_SPAN_BEGIN)
			assert_true(in_force(provider)->rules[slot].span < slot);
	close_all(policy, provider, NULL);
	ada_plan_close(plan);
}

/* A slot's new rule begins at nothing, and what the old one counted stays the old one's. */
static void states_are_a_rules_own(void **state)
{
	struct ada_policy *policy = policy_open(POLICY_RULES("symbol=ada_test_alpha"));
	struct ada_provider *provider = policy_provider(policy, NULL);
	struct ada_rule_info rules[ADA_RULES_MAX], info;
	uint32_t id = 0;

	state_of(provider, 0)->matches = 10;
	state_of(provider, 0)->marks = 4;
	assert_int_equal(ada_policy_rules(policy, rules, ADA_RULES_MAX), 1);
	assert_int_equal(rules[0].matches, 10);
	assert_int_equal(rules[0].marks, 4);
	drop(policy, 1);
	for (int i = 0; i < 64; i++) /* the freed slot comes last */
		add(policy, "p99=function:ada_test_beta>5ms", &id);
	assert_true(ada_policy_rule(policy, ada_policy_version(policy), 0, &info));
	assert_int_equal(info.id, id);
	assert_int_equal(state_of(provider, 0)->matches, 0);
	assert_int_equal(state_of(provider, 0)->incarnation, 2);
	assert_int_equal(in_force(provider)->rules[0].incarnation, 2);
	assert_true(ada_policy_rule(policy, 1, 0, &info));
	assert_int_equal(info.matches, 10);
	assert_int_equal(info.marks, 4);
	state_of(provider, 0)->marks = 3;
	policy_provider_close(policy, provider);
	assert_int_equal(ada_policy_rules(policy, rules, ADA_RULES_MAX), 64);
	assert_int_equal(rules[63].id, id);
	assert_int_equal(rules[63].marks, 3);
	ada_policy_close(policy);
	free(provider);
}

static void a_forks_child_has_its_parents_numbers(void **state)
{
	struct ada_policy *policy = policy_open(POLICY_RULES("symbol=ada_test_beta"));
	struct ada_provider *parent = policy_provider(policy, NULL);
	struct ada_plan *plan = policy_plan(true);
	uint32_t base = ada_policy_module(policy, parent, 0, "/proc/self/exe", plan);
	uint32_t beta = base + policy_function(plan, "ada_test_beta");
	struct ada_provider *child;
	uint32_t id;

	state_of(parent, 0)->marks = 5;
	child = policy_provider(policy, parent);
	assert_int_equal(policy_decide(child->segment.shm, beta).mask, 1);
	assert_int_equal(state_of(child, 0)->marks, 0);
	assert_int_equal(state_of(child, 0)->incarnation, 1);
	assert_int_equal(ada_policy_module(policy, child, 5, "/proc/self/exe", plan), base);
	add(policy, "symbol=ada_test_alpha", &id);
	assert_int_equal(policy_decide(child->segment.shm, base + policy_function(plan, "ada_test_alpha")).mask, 2);
	assert_int_equal(policy_decide(parent->segment.shm, base + policy_function(plan, "ada_test_alpha")).mask, 2);
	close_all(policy, parent, child);
	ada_plan_close(plan);
}

/* Beside what rules ask for, in whatever table is in force; a child begins with it; not where another module has the same numbers. */
static void mutes_outlive_rules(void **state)
{
	struct ada_policy *policy = policy_open(POLICY_RULES("crash", "return=ada_test_alpha<0"));
	struct ada_provider *provider = policy_provider(policy, NULL), *child;
	struct ada_plan *plan = policy_plan(false);
	uint32_t symbol = policy_function(plan, "ada_test_alpha"), base = ada_policy_module(policy, provider, 3, "/proc/self/exe", plan),
		 id;
	const uint64_t alpha = ADA_FUNCTION_ID(3, symbol), beta = ADA_FUNCTION_ID(3, policy_function(plan, "ada_test_beta"));

#define FLAGS_OF(provider) policy_decide((provider)->segment.shm, base + symbol).flags
	assert_true(ada_policy_mute(policy, provider, alpha, true));
	assert_int_equal(FLAGS_OF(provider), ADA_POLICY_RETURN | ADA_POLICY_MUTED);
	add(policy, "symbol=ada_test_alpha", &id);
	assert_int_equal(FLAGS_OF(provider), ADA_POLICY_RETURN | ADA_POLICY_CALL | ADA_POLICY_MUTED);
	child = policy_provider(policy, provider);
	assert_int_equal(FLAGS_OF(child), ADA_POLICY_RETURN | ADA_POLICY_CALL | ADA_POLICY_MUTED);
	assert_true(ada_policy_is_muted(policy, child, alpha) && !ada_policy_is_muted(policy, child, beta));
	assert_true(ada_policy_mute(policy, provider, alpha, false));
	drop(policy, id);
	assert_int_equal(FLAGS_OF(provider), ADA_POLICY_RETURN);
	assert_int_equal(FLAGS_OF(child), ADA_POLICY_RETURN | ADA_POLICY_MUTED);
	assert_false(ada_policy_mute(policy, provider, ADA_FUNCTION_ID(4, symbol), true));
	assert_int_equal(ada_policy_module(policy, child, 9, "/proc/self/exe", plan), base);
	assert_int_equal(FLAGS_OF(child), ADA_POLICY_RETURN);
	assert_false(ada_policy_mute(policy, child, alpha, true) || ada_policy_is_muted(policy, child, alpha));
#undef FLAGS_OF
	close_all(policy, child, provider);
	ada_plan_close(plan);
}

static void hooks_of_named_functions(void **state)
{
	struct ada_policy *policy = policy_open(POLICY_RULES("symbol=ada_test_beta"));
	struct ada_plan *names = policy_plan(false), *full = policy_plan(true);
	uint32_t bytes, beta = ada_plan_functions(full)[policy_function(full, "ada_test_beta")].hook;
	uint8_t *bits;

	assert_true(ada_policy_names(policy, names, NULL));
	bits = ada_policy_hooks(policy, full, &bytes);
	assert_non_null(bits);
	assert_int_equal(bytes, (ada_plan_header(full)->hook_count + 7) / 8);
	for (uint32_t i = 0; i < bytes * 8; i++)
		assert_int_equal(bits[i / 8] >> i % 8 & 1, i == beta);
	free(bits);
	drop(policy, 1);
	assert_false(ada_policy_names(policy, names, NULL));
	assert_null(ada_policy_hooks(policy, full, &bytes));
	ada_policy_close(policy);
	ada_plan_close(names);
	ada_plan_close(full);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(without_rules_crash_and_manual),
					    cmocka_unit_test(errors_name_their_origin),
					    cmocka_unit_test(numbers_are_dense_over_modules),
					    cmocka_unit_test(a_module_extends_the_table_in_place),
					    cmocka_unit_test(types_come_with_the_module),
					    cmocka_unit_test(live_rules_make_versions),
					    cmocka_unit_test(at_most_64_rules),
					    cmocka_unit_test(spans_take_two_slots),
					    cmocka_unit_test(states_are_a_rules_own),
					    cmocka_unit_test(a_forks_child_has_its_parents_numbers),
					    cmocka_unit_test(mutes_outlive_rules),
					    cmocka_unit_test(hooks_of_named_functions) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
