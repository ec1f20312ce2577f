/* Rules, their slots, versions and history, and what changes them. policy_table.c has the tables, policy_match.c the names,
 * policy_provider.c providers and their modules. */
#include "recorder/policy/policy.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "recorder/policy/policy_state.h"
#include "recorder/state/state.h"

static const struct {
	const char *text;
	enum ada_rule_kind kind;
} defaults[] = { { "crash", ADA_RULE_CRASH }, { "manual", ADA_RULE_MANUAL } };

struct warned {
	const char *text;
	struct ada_error *first;
};

static void warn(void *context, const char *text)
{
	const struct warned *warned = context;

	ada_policy_tell(warned->first, "'%s': %s", warned->text, text);
}

static void rule_free(struct ada_policy_rule *rule)
{
	if (rule->trigger)
		ada_trigger_free(rule->trigger);
	free(rule->hits);
	free(rule->told);
	free(rule);
}

static int rule_make(struct ada_policy *policy, struct ada_policy_rule **result, const char *text, struct ada_error *warning,
		     struct ada_error *error)
{
	struct warned warned = { text, warning };
	struct ada_policy_rule *rule = calloc(1, sizeof *rule);
	int status;
	const struct ada_trigger *trigger;

	*result = NULL;
	if (!rule)
		return ada_error_system(error, ENOMEM, "%s", text);
	status = ada_trigger_parse(&rule->trigger, text, policy->strict, warn, &warned, error);
	if (status) {
		rule->trigger = NULL;
		rule_free(rule);
		return status;
	}
	trigger = rule->trigger;
	rule->until = UINT32_MAX;
	rule->flags = ada_trigger_flags(trigger);
	rule->typed = trigger->type_given ||
		      (trigger->kind != ADA_RULE_RETURN && trigger->kind != ADA_RULE_ARG && trigger->kind != ADA_RULE_SPAN);
	rule->begin_typed = rule->typed || trigger->kind != ADA_RULE_SPAN;
	rule->hits = calloc(trigger->patterns.count + 1, sizeof *rule->hits);
	rule->told = calloc(trigger->patterns.count + 1, sizeof *rule->told);
	ada_trigger_rule(trigger, policy->ticks_per_ns, &policy->rolls, trigger->type_given ? trigger->type : ADA_VALUE_I32, &rule->agent);
	if (!rule->hits || !rule->told) {
		rule_free(rule);
		return ada_error_system(error, ENOMEM, "%s", text);
	}
	*result = rule;
	return 0;
}

/* Puts a rule into slots and lists, as of the version to come. Under both locks. */
static int rule_enter(struct ada_policy *policy, struct ada_policy_rule *rule)
{
	int status = ada_policy_slots_find(policy, rule)	  ?:
			     ada_array_reserve(&policy->rules, 1) ?:
								    ada_array_reserve(&policy->by_slot[rule->slot], 1);

	if (status)
		return status;
	rule->id = (uint32_t)policy->rules.count + 1;
	rule->since = policy->version + 1;
	rule->agent.incarnation = rule->incarnation = ++policy->incarnations[rule->slot];
	policy->rules.items[policy->rules.count++] = rule;
	ada_trigger_begin_rule(rule->trigger, &rule->agent, (enum ada_value_type)rule->agent.type, rule->slot, &rule->begin);
	ada_policy_slots_take(policy, rule);
	return 0;
}

/* Those in force, by id. Under either lock. */
static size_t in_force(const struct ada_policy *policy, struct ada_policy_rule *rules[ADA_RULES_MAX])
{
	struct ada_policy_rule *rule;
	size_t count = 0, at;

	for (uint32_t slot = 0; slot < ADA_RULES_MAX; slot++) {
		if (!(rule = ada_policy_in_slot(policy, slot)))
			continue;
		for (at = count++; at && rules[at - 1]->id > rule->id; at--)
			rules[at] = rules[at - 1];
		rules[at] = rule;
	}
	return count;
}

/* Under both locks. */
static int version_enter(struct ada_policy *policy)
{
	struct ada_policy_rule *rules[ADA_RULES_MAX];
	size_t count = in_force(policy, rules), bytes = 0;
	char *text = NULL;
	FILE *file = open_memstream(&text, &bytes);

	for (size_t i = 0; file && i < count; i++)
		fprintf(file, "%s\n", rules[i]->trigger->text);
	if (!file || fclose(file) || ada_array_push(&policy->hashes, ada_hash_bytes(text, bytes))) {
		free(text);
		return -ENOMEM;
	}
	free(text);
	policy->version++;
	return 0;
}

static void set_rolls(struct ada_policy *policy, const struct ada_trace_options *options)
{
	policy->rolls = (struct ada_rolls){ options->pre_roll_ns, options->pre_roll_events, options->post_roll_ns,
					    options->post_roll_events };
	if (!policy->rolls.pre_ns && !policy->rolls.pre_events)
		policy->rolls.pre_events = ADA_ROLL_EVENTS_DEFAULT;
	if (!policy->rolls.post_ns && !policy->rolls.post_events)
		policy->rolls.post_events = ADA_ROLL_EVENTS_DEFAULT;
}

/* No one else knows of the policy yet. */
static int rule_open(struct ada_policy *policy, const char *origin, const char *text, struct ada_error *error)
{
	struct ada_error reason = { "" };
	struct ada_policy_rule *rule;
	int status = rule_make(policy, &rule, text, NULL, &reason);

	if (status)
		return ada_error_set(error, -status, "%s '%s': %s", origin, text, reason.text);
	status = rule_enter(policy, rule);
	if (!status)
		return 0;
	rule_free(rule);
	if (status == -ENOSPC)
		return ada_error_set(error, ENOSPC, "%s '%s': at most %u rules, of which each with two functions counts twice: %s", origin,
				     text, ADA_RULES_MAX, "one rule can name several functions: symbol=a,b,c");
	return ada_error_system(error, ENOMEM, "policy");
}

static bool has_kind(const struct ada_policy *policy, enum ada_rule_kind kind)
{
	for (size_t i = 0; i < policy->rules.count; i++)
		if (policy->rules.items[i]->trigger->kind == kind)
			return true;
	return false;
}

/* Behind those that were given: a crash or a mark by hand is nothing that anyone wants to miss because of another rule. Where no slot is
 * left they stay out. */
static int open_defaults(struct ada_policy *policy, struct ada_error *error)
{
	int status = 0;

	struct ada_error none = { "" };

	for (size_t i = 0; i < sizeof defaults / sizeof *defaults && !status; i++)
		if (!has_kind(policy, defaults[i].kind))
			status = rule_open(policy, "--trigger", defaults[i].text, &none);
	return !status || status == -ENOSPC ? 0 : ada_error_set(error, -status, "%s", none.text);
}

static int open_rules(struct ada_policy *policy, const struct ada_trace_options *options, struct ada_error *error)
{
	size_t given = options->triggers.count;
	int status = 0;

	if (given > ADA_RULES_MAX)
		return ada_error_set(error, EINVAL, "%s: %zu rules, of at most %u: one rule can name several functions: symbol=a,b,c",
				     options->trigger_origins.count > ADA_RULES_MAX ? options->trigger_origins.items[ADA_RULES_MAX] :
										      "--trigger",
				     given, ADA_RULES_MAX);
	for (size_t i = 0; i < given && !status; i++)
		status = rule_open(policy, i < options->trigger_origins.count ? options->trigger_origins.items[i] : "--trigger",
				   options->triggers.items[i], error);
	if (!status && !options->no_default_triggers)
		status = open_defaults(policy, error);
	if (!status && version_enter(policy))
		status = ada_error_system(error, ENOMEM, "policy");
	return status;
}

int ada_policy_open(struct ada_policy **result, const struct ada_trace_options *options, double ticks_per_ns, struct ada_error *error)
{
	struct ada_policy *policy = calloc(1, sizeof *policy);
	int status;

	*result = NULL;
	if (!policy)
		return ada_error_system(error, ENOMEM, "policy");
	pthread_mutex_init(&policy->late, NULL);
	pthread_mutex_init(&policy->change, NULL);
	pthread_mutex_init(&policy->lock, NULL);
	policy->ticks_per_ns = ticks_per_ns;
	policy->strict = options->strict;
	set_rolls(policy, options);
	status = ada_policy_captures_open(policy, options, error) ?: open_rules(policy, options, error);
	if (status)
		ada_policy_close(policy);
	else
		*result = policy;
	return status;
}

void ada_policy_attach(struct ada_policy *policy, struct ada_recorder *recorder)
{
	policy->recorder = recorder;
}

void ada_policy_close(struct ada_policy *policy)
{
	if (!policy)
		return;
	for (size_t i = 0; i < policy->rules.count; i++)
		rule_free(policy->rules.items[i]);
	for (uint32_t slot = 0; slot < ADA_RULES_MAX; slot++)
		ada_array_free(&policy->by_slot[slot]);
	ada_policy_images_free(policy);
	ada_policy_tables_free(policy);
	ada_array_free(&policy->rules);
	ada_array_free(&policy->hashes);
	ada_array_free(&policy->masks);
	ada_array_free(&policy->objects);
	ada_array_free(&policy->captured);
	ada_capture_list_free(&policy->captures);
	ada_capture_list_free(&policy->redactions);
	pthread_mutex_destroy(&policy->late);
	pthread_mutex_destroy(&policy->change);
	pthread_mutex_destroy(&policy->lock);
	free(policy);
}

/* Takes a rule out of force as of the version that is about to be made. Under both locks. */
static void rule_end(struct ada_policy *policy, struct ada_policy_rule *rule)
{
	rule->until = policy->version + 1;
	ada_policy_slots_free(policy, rule, rule->until);
}

int ada_policy_add(struct ada_policy *policy, const char *text, uint32_t *id, struct ada_error *error)
{
	struct ada_policy_rule *rule;
	struct ada_error warning = { "" };
	int status = rule_make(policy, &rule, text, &warning, error);

	if (status)
		return status;
	pthread_mutex_lock(&policy->late); /* so that nobody else tells the user first what this function tells */
	pthread_mutex_lock(&policy->change);
	pthread_mutex_lock(&policy->lock);
	status = rule_enter(policy, rule);
	if (!status && (status = version_enter(policy)))
		rule_end(policy, rule); /* of no version */
	pthread_mutex_unlock(&policy->lock);
	if (status == -ENOSPC)
		ada_error_set(error, ENOSPC,
			      "%s: there are %u rules already (each with two functions counts twice): remove one (ada trigger list, "
			      "ada trigger remove ID)",
			      text, ADA_RULES_MAX);
	if (status) {
		if (rule->until == UINT32_MAX)
			rule_free(rule);
		pthread_mutex_unlock(&policy->change);
		pthread_mutex_unlock(&policy->late);
		return ada_error_system(error, -status, "%s", text);
	}
	if (id)
		*id = rule->id;
	ada_policy_match_rule(policy, rule); /* short of memory it names fewer */
	for (size_t i = 0; i < policy->images.count; i++)
		ada_policy_settle_types(policy, policy->images.items[i]);
	ada_policy_compile_all(policy);
	if (policy->tables.count)
		ada_policy_warn_rule(rule, policy->tables.items[0], &warning);
	pthread_mutex_unlock(&policy->change);
	ada_policy_late(policy, rule, NULL, rule->since, &warning);
	pthread_mutex_unlock(&policy->late);
	if (*warning.text)
		ada_error_set(error, EAGAIN, "%s", warning.text);
	return 0;
}

int ada_policy_remove(struct ada_policy *policy, uint32_t id, struct ada_error *error)
{
	struct ada_policy_rule *rule;
	int status;

	pthread_mutex_lock(&policy->change);
	pthread_mutex_lock(&policy->lock);
	rule = id && id <= policy->rules.count ? policy->rules.items[id - 1] : NULL;
	status = !rule || rule->until != UINT32_MAX ? -ENOENT : 0;
	if (!status) {
		rule_end(policy, rule);
		status = version_enter(policy);
		if (status)
			rule->until = UINT32_MAX;
	}
	pthread_mutex_unlock(&policy->lock);
	if (!status) {
		ada_policy_unmatch_rule(policy, rule);
		ada_policy_compile_all(policy);
	}
	pthread_mutex_unlock(&policy->change);
	if (status == -ENOENT)
		return ada_error_set(error, ENOENT, "no rule in force has the number %u: see `ada trigger list`", id);
	return status ? ada_error_system(error, -status, "rule %u", id) : 0;
}

static struct ada_rule_info info_of(const struct ada_policy_rule *rule)
{
	return (struct ada_rule_info){ .id = rule->id,
				       .slot = rule->slot,
				       .since = rule->since,
				       .until = rule->until,
				       .trigger = rule->trigger,
				       .rule = rule->agent,
				       .matches = rule->matches,
				       .marks = rule->marks,
				       .redacted = rule->redacted,
				       .overlooked = rule->overlooked };
}

size_t ada_policy_rules(struct ada_policy *policy, struct ada_rule_info *rules, size_t room)
{
	struct ada_policy_rule *all[ADA_RULES_MAX];
	size_t found, count;

	pthread_mutex_lock(&policy->lock);
	found = in_force(policy, all);
	count = found < room ? found : room;
	for (size_t i = 0; i < count; i++)
		rules[i] = info_of(all[i]);
	ada_policy_count_live(policy, rules, count);
	pthread_mutex_unlock(&policy->lock);
	return count;
}

bool ada_policy_rule(struct ada_policy *policy, uint32_t version, uint32_t slot, struct ada_rule_info *info)
{
	size_t i;
	bool found;

	if (slot >= ADA_RULES_MAX)
		return false;
	pthread_mutex_lock(&policy->lock);
	i = ada_first_not(n, 0, policy->by_slot[slot].count, policy->by_slot[slot].items[n]->until <= version);
	found = i < policy->by_slot[slot].count && policy->by_slot[slot].items[i]->since <= version;
	if (found)
		*info = info_of(policy->by_slot[slot].items[i]);
	pthread_mutex_unlock(&policy->lock);
	return found;
}

uint32_t ada_policy_version(struct ada_policy *policy)
{
	uint32_t version;

	pthread_mutex_lock(&policy->lock);
	version = policy->version;
	pthread_mutex_unlock(&policy->lock);
	return version;
}

void ada_policy_hash(struct ada_policy *policy, uint32_t version, char hash[17])
{
	uint64_t value;

	pthread_mutex_lock(&policy->lock);
	value = version && version <= policy->hashes.count ? policy->hashes.items[version - 1] : 0;
	pthread_mutex_unlock(&policy->lock);
	snprintf(hash, 17, "%016llx", (unsigned long long)value);
}

void ada_policy_cost(struct ada_policy *policy, struct ada_policy_cost *cost)
{
	pthread_mutex_lock(&policy->lock);
	*cost = policy->cost;
	pthread_mutex_unlock(&policy->lock);
}
