/* The policy and the processes: numbers of their functions, what of their modules is hooked, their marks so far. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "abi/rules.h"
#include "recorder/host/say.h"
#include "recorder/policy/policy_state.h"
#include "recorder/state/state.h"

struct ada_policy_tables *ada_policy_tables_of(const struct ada_policy *policy, const struct ada_provider *provider)
{
	for (size_t i = policy->tables.count; i--;)
		if (policy->tables.items[i]->provider == provider)
			return policy->tables.items[i];
	return NULL;
}

static void tables_free(struct ada_policy_tables *tables)
{
	for (size_t i = 0; i < tables->modules.count; i++)
		ada_policy_module_free(&tables->modules.items[i]);
	ada_array_free(&tables->modules);
	ada_table_free(&tables->classes);
	ada_table_free(&tables->redacted);
	ada_array_free(&tables->muted);
	free(tables);
}

void ada_policy_tables_free(struct ada_policy *policy)
{
	for (size_t i = 0; i < policy->tables.count; i++)
		tables_free(policy->tables.items[i]);
	ada_array_free(&policy->tables);
}

static void tell_failure(struct ada_policy_tables *tables, int status)
{
	if (!status || tables->failed)
		return;
	tables->failed = true;
	ada_say("ada: process %d: the marking policy has no room: %s: its rules don't change any more\n", tables->provider->pid,
		strerror(-status));
}

/* Compiles if the segment is there; 0 also where it isn't. */
static int compile(struct ada_policy *policy, struct ada_policy_tables *tables)
{
	struct ada_provider *provider = tables->provider;
	int status;

	pthread_mutex_lock(&provider->lock);
	status = provider->mapped ? ada_policy_compile(policy, tables) : 0;
	pthread_mutex_unlock(&provider->lock);
	tell_failure(tables, status);
	return status;
}

void ada_policy_compile_all(struct ada_policy *policy)
{
	for (size_t i = 0; i < policy->tables.count; i++)
		compile(policy, policy->tables.items[i]);
}

/* A copy of bits by hook number; NULL of NULL. */
static int copy_bits(uint8_t **copy, const uint8_t *bits, const struct ada_plan *plan)
{
	uint32_t bytes = bits ? (ada_plan_header(plan)->hook_count + 7) / 8 : 0;

	*copy = bits ? malloc(bytes + 1) : NULL;
	if (*copy)
		memcpy(*copy, bits, bytes);
	return bits && !*copy ? -ENOMEM : 0;
}

static int inherit(struct ada_policy *policy, struct ada_policy_tables *tables, const struct ada_policy_tables *parent)
{
	tables->functions = parent->functions;
	for (size_t i = 0; i < parent->modules.count; i++) {
		const struct ada_policy_module *from = &parent->modules.items[i];
		struct ada_policy_module module = { .id = from->id, .base = from->base, .image = from->image, .plan = from->plan };

		if (copy_bits(&module.hooked, from->hooked, from->plan) || copy_bits(&module.patched, from->patched, from->plan) ||
		    ada_array_push(&tables->modules, module)) {
			ada_policy_module_free(&module);
			return -ENOMEM;
		}
		ada_policy_redact_module(policy, tables, &module);
	}
	return ada_policy_mutes_inherit(tables, parent);
}

/* A fork's child that took its segment itself has begun with its parent's rules, and may have counted by now. The state says whose it is; a
 * lie costs the liar its counts. */
static void keep_states(const struct ada_policy *policy, struct ada_policy_tables *tables)
{
	for (uint32_t slot = 0; slot < ADA_RULES_MAX; slot++) {
		const struct ada_policy_rule *rule = ada_policy_in_slot(policy, slot);
		const struct ada_rule_state *state = ada_policy_state(tables->provider->segment.policy, slot);

		if (rule && __atomic_load_n(&state->incarnation, __ATOMIC_ACQUIRE) == rule->incarnation)
			tables->incarnations[slot] = rule->incarnation;
	}
}

int ada_policy_provider(struct ada_policy *policy, struct ada_provider *provider, const struct ada_provider *parent)
{
	struct ada_policy_tables *tables = calloc(1, sizeof *tables);
	const struct ada_policy_tables *from;
	int status;

	if (!tables)
		return -ENOMEM;
	tables->provider = provider;
	pthread_mutex_lock(&policy->change);
	from = parent ? ada_policy_tables_of(policy, parent) : NULL;
	status = from ? inherit(policy, tables, from) : 0;
	if (!status) {
		pthread_mutex_lock(&provider->lock);
		ada_policy_check_inherited(tables);
		if (provider->ready && provider->mapped)
			keep_states(policy, tables);
		status = !provider->mapped ? -ESRCH : ada_policy_room(tables, tables->functions) ?: ada_policy_compile(policy, tables);
		if (!status) { /* before it can leave */
			pthread_mutex_lock(&policy->lock);
			status = ada_array_push(&policy->tables, tables);
			pthread_mutex_unlock(&policy->lock);
		}
		pthread_mutex_unlock(&provider->lock);
	}
	pthread_mutex_unlock(&policy->change);
	if (status)
		tables_free(tables);
	return status;
}

struct ada_policy_module *ada_policy_module_of(struct ada_policy_tables *tables, uint32_t id)
{
	for (size_t i = 0; i < tables->modules.count; i++)
		if (tables->modules.items[i].id == id)
			return &tables->modules.items[i];
	return NULL;
}

/* The same file loaded anew has the same numbers; -ENOSPC: there are none left. */
static int number(struct ada_policy_tables *tables, struct ada_policy_module *module, uint32_t count, bool *anew)
{
	*anew = false;
	for (size_t i = 0; i < tables->modules.count; i++)
		if (tables->modules.items[i].image == module->image && tables->modules.items[i].base) {
			module->base = tables->modules.items[i].base;
			return 0;
		}
	if (count >= ADA_FUNCTIONS_MAX - tables->functions)
		return -ENOSPC;
	*anew = true;
	module->base = tables->functions + 1;
	return count ? 0 : -ENOENT;
}

static int module_enter(struct ada_policy *policy, struct ada_policy_tables *tables, struct ada_policy_module *module, uint32_t count)
{
	bool anew, changed = ada_policy_settle_types(policy, module->image);
	int status = number(tables, module, count, &anew);
	struct ada_policy_module *known;

	if (!status && anew && !(status = ada_policy_room(tables, tables->functions + count)))
		tables->functions += count;
	if (status)
		module->base = 0;
	else if (!anew)
		ada_policy_mutes_drop(tables, module);
	ada_policy_redact_module(policy, tables, module);
	known = ada_policy_module_of(tables, module->id);
	if (known) {
		ada_policy_module_free(known);
		*known = *module;
	} else if (ada_array_push(&tables->modules, *module)) {
		return -ENOMEM;
	}
	if (!status && anew)
		status = ada_policy_extend(policy, tables, module, changed);
	else if (changed)
		status = ada_policy_compile(policy, tables);
	return status == -ENOENT ? 0 : status;
}

uint32_t ada_policy_module(struct ada_policy *policy, struct ada_provider *provider, uint32_t module_id, const char *path,
			   const struct ada_plan *plan)
{
	struct ada_policy_module module = { .id = module_id };
	uint32_t base = 0;
	struct ada_policy_tables *tables;

	pthread_mutex_lock(&policy->change);
	tables = ada_policy_tables_of(policy, provider);
	module.image = tables ? ada_policy_image(policy, plan, path) : NULL;
	if (module.image) {
		int status;

		pthread_mutex_lock(&provider->lock);
		status = provider->mapped ? module_enter(policy, tables, &module, ada_plan_header(plan)->function_count) : -ESRCH;
		pthread_mutex_unlock(&provider->lock);
		base = status ? 0 : module.base;
		if (status && status != -ESRCH)
			tell_failure(tables, status);
	}
	pthread_mutex_unlock(&policy->change);
	return base;
}

bool ada_policy_names(struct ada_policy *policy, const struct ada_plan *plan, const char *path)
{
	bool named = false;
	const struct ada_policy_image *image;

	pthread_mutex_lock(&policy->change);
	image = ada_policy_image(policy, plan, path);
	for (size_t i = 0; image && i < image->matches.count && !named; i++)
		for (size_t j = 0; j < image->matches.items[i].functions.count && !named; j++) {
			uint32_t function = ADA_POLICY_NUMBER(image->matches.items[i].functions.items[j]);

			named = !(ada_plan_functions(plan)[function].flags & (ADA_FUNCTION_IFUNC | ADA_FUNCTION_INTERCEPT));
		}
	pthread_mutex_unlock(&policy->change);
	return named;
}

uint8_t *ada_policy_hooks(struct ada_policy *policy, const struct ada_plan *plan, uint32_t *bytes)
{
	uint8_t *bits = calloc((ada_plan_header(plan)->hook_count + 7) / 8 + 1, 1);
	uint32_t count = 0;
	struct ada_policy_image *image;

	*bytes = (ada_plan_header(plan)->hook_count + 7) / 8;
	pthread_mutex_lock(&policy->change);
	image = bits ? ada_policy_image(policy, plan, NULL) : NULL;
	if (image) {
		count = ada_policy_hook_bits(image, plan, bits);
		ada_policy_warn_refused(image, plan, NULL);
	}
	pthread_mutex_unlock(&policy->change);
	if (count)
		return bits;
	free(bits);
	*bytes = 0;
	return NULL;
}

void ada_policy_hooked(struct ada_policy *policy, struct ada_provider *provider, uint32_t module_id, const struct ada_plan *plan,
		       const uint8_t *hooks)
{
	uint8_t *copy;
	struct ada_policy_tables *tables;
	struct ada_policy_module *module;

	copy_bits(&copy, hooks, plan);
	pthread_mutex_lock(&policy->change);
	tables = ada_policy_tables_of(policy, provider);
	module = tables ? ada_policy_module_of(tables, module_id) : NULL;
	if (module && (copy || !hooks)) {
		free(module->hooked);
		module->plan = plan;
		module->hooked = copy;
		copy = NULL;
	}
	pthread_mutex_unlock(&policy->change);
	free(copy);
}

void ada_policy_warn_unknown(struct ada_policy *policy, struct ada_provider *provider)
{
	struct ada_policy_rule *rule;
	const struct ada_policy_tables *tables;

	pthread_mutex_lock(&policy->change);
	tables = ada_policy_tables_of(policy, provider);
	for (uint32_t slot = 0; tables && slot < ADA_RULES_MAX; slot++)
		if ((rule = ada_policy_in_slot(policy, slot)))
			ada_policy_warn_rule(rule, tables, NULL);
	pthread_mutex_unlock(&policy->change);
}

static void states_add(const struct ada_policy_tables *tables, struct ada_rule_info *rules, size_t count)
{
	const struct ada_rule_state *states = ada_policy_state(tables->provider->segment.policy, 0);

	for (size_t i = 0; i < count; i++)
		if (tables->incarnations[rules[i].slot] == rules[i].rule.incarnation) {
			rules[i].matches += __atomic_load_n(&states[rules[i].slot].matches, __ATOMIC_RELAXED);
			rules[i].marks += __atomic_load_n(&states[rules[i].slot].marks, __ATOMIC_RELAXED);
			rules[i].overlooked += __atomic_load_n(&states[rules[i].slot].overlooked, __ATOMIC_RELAXED);
		}
}

void ada_policy_count_live(struct ada_policy *policy, struct ada_rule_info *rules, size_t count)
{
	/* Not under each provider->lock: the caller would wait for every provider that is being prepared or given memory. */
	for (size_t i = 0; i < policy->tables.count; i++)
		if (!policy->tables.items[i]->left)
			states_add(policy->tables.items[i], rules, count);
}

int ada_policy_pass(struct ada_policy *policy, const struct ada_provider *provider, const struct ada_rule *rule, uint32_t slot,
		    uint64_t counter)
{
	int marks = -EAGAIN;
	const struct ada_policy_tables *tables;

	pthread_mutex_lock(&policy->lock);
	tables = ada_policy_tables_of(policy, provider);
	if (tables && !tables->left && tables->incarnations[slot] == rule->incarnation)
		marks = ada_rule_pass(ada_policy_state(provider->segment.policy, slot), rule, counter);
	pthread_mutex_unlock(&policy->lock);
	return marks;
}

void ada_policy_leave(struct ada_policy *policy, struct ada_provider *provider)
{
	struct ada_rule_info one;
	struct ada_policy_tables *tables;

	pthread_mutex_lock(&policy->lock);
	tables = ada_policy_tables_of(policy, provider);
	if (tables)
		tables->left = true;
	for (size_t i = 0; tables && i < policy->rules.count; i++) {
		struct ada_policy_rule *rule = policy->rules.items[i];

		one = (struct ada_rule_info){ .slot = rule->slot, .rule.incarnation = rule->incarnation };
		states_add(tables, &one, 1);
		rule->matches += one.matches;
		rule->marks += one.marks;
		rule->overlooked += one.overlooked;
	}
	pthread_mutex_unlock(&policy->lock);
}
