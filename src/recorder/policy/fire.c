#include "recorder/policy/fire.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "recorder/detail/detail.h"
#include "recorder/state/provider.h"

#define LABEL_BYTES 200

void ada_firing_take(struct ada_firing *firing, struct ada_policy *policy, uint64_t kinds)
{
	size_t kept = 0;

	do {
		firing->version = ada_policy_version(policy);
		firing->count = ada_policy_rules(policy, firing->rules, ADA_RULES_MAX);
	} while (ada_policy_version(policy) != firing->version);
	for (size_t i = 0; i < firing->count; i++)
		if (kinds >> firing->rules[i].rule.kind & 1)
			firing->rules[kept++] = firing->rules[i];
	firing->count = kept;
}

int ada_fire(struct ada_provider *provider, const struct ada_firing *firing, const struct ada_rule_info *info, uint64_t counter,
	     uint64_t value, uint64_t post_ticks)
{
	static struct ada_rule rules[ADA_RULES_MAX]; /* by slot; only this rule's is looked at */
	struct ada_rule *rule = &rules[info->slot];
	int marks = provider->mapped && provider->details ?
			    ada_policy_pass(provider->recorder->policy, provider, &info->rule, info->slot, counter) :
			    -EAGAIN;
	int status;

	if (marks <= 0)
		return marks;
	*rule = info->rule;
	if (rule->post_ticks < post_ticks)
		rule->post_ticks = post_ticks;
	status = ada_details_mark(provider->details, rules, 1ull << info->slot, firing->version, counter, value);
	provider->windows_changed |= !status; /* whoever asks for windows next is told that there is one, before it is settled */
	return status ? status : 1;
}

/* Number of the label from 1 on, which is the value of a mark made by hand; 0: no label. */
static uint64_t keep_label(struct ada_recorder *recorder, const char *label)
{
	char *copy = label && *label ? strndup(label, LABEL_BYTES) : NULL;

	if (!copy)
		return 0;
	if (ada_array_push(&recorder->labels, copy)) {
		free(copy);
		return 0;
	}
	return recorder->labels.count;
}

int ada_fire_manual(struct ada_recorder *recorder, const char *label, size_t *processes, struct ada_error *error)
{
	struct ada_firing *firing = malloc(sizeof *firing);
	uint64_t counter = ada_clock_counter(), number;
	struct ada_provider *provider;

	*processes = 0;
	if (!firing)
		return ada_error_system(error, ENOMEM, "mark");
	ada_firing_take(firing, recorder->policy, 1ull << ADA_RULE_MANUAL);
	if (!recorder->options->detail || !firing->count) {
		free(firing);
		return recorder->options->detail ?
			       ada_error_set(error, ENOENT, "no rule `manual` is in force: `ada trigger add manual` adds it") :
			       ada_error_set(error, ENOENT, "this session keeps no detail (--detail=off): there is nothing to mark");
	}
	number = keep_label(recorder, label);
	for (size_t i = 0; (provider = ada_provider_at(recorder, i)); i++) {
		bool marked = false;

		for (size_t k = 0; k < firing->count && !__atomic_load_n(&provider->gone_ns, __ATOMIC_ACQUIRE); k++)
			marked |= ada_fire(provider, firing, &firing->rules[k], counter, number, 0) > 0;
		*processes += marked;
	}
	free(firing);
	return 0;
}
