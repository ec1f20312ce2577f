/* Which of the 64 slots have which rule. A rule of spans has two: the lower one for what ends, so that a call which ends one span and begins
 * the next is judged in this order. */
#include <errno.h>
#include "recorder/policy/policy_state.h"

struct ada_policy_rule *ada_policy_in_slot(const struct ada_policy *policy, uint32_t slot)
{
	size_t count = policy->by_slot[slot].count;
	struct ada_policy_rule *rule = count ? policy->by_slot[slot].items[count - 1] : NULL;

	return rule && rule->until == UINT32_MAX ? rule : NULL;
}

/* A slot that no rule had yet, else the slot that was freed first, for which the fewest late marks can come. */
static uint32_t slot_find(const struct ada_policy *policy, uint32_t but)
{
	uint32_t slot = ADA_NO_SLOT;

	for (uint32_t i = 0; i < ADA_RULES_MAX; i++)
		if (i != but && !ada_policy_in_slot(policy, i) && !policy->begins[i] &&
		    (slot == ADA_NO_SLOT || policy->freed[i] < policy->freed[slot]))
			slot = i;
	return slot;
}

int ada_policy_slots_find(const struct ada_policy *policy, struct ada_policy_rule *rule)
{
	uint32_t other;

	rule->begin_slot = ADA_NO_SLOT;
	rule->slot = slot_find(policy, ADA_NO_SLOT);
	if (rule->slot == ADA_NO_SLOT)
		return -ENOSPC;
	if (rule->trigger->kind != ADA_RULE_SPAN)
		return 0;
	other = slot_find(policy, rule->slot);
	if (other == ADA_NO_SLOT)
		return -ENOSPC;
	rule->begin_slot = rule->slot > other ? rule->slot : other;
	rule->slot = rule->slot < other ? rule->slot : other;
	return 0;
}

void ada_policy_slots_take(struct ada_policy *policy, struct ada_policy_rule *rule)
{
	policy->by_slot[rule->slot].items[policy->by_slot[rule->slot].count++] = rule;
	if (rule->begin_slot != ADA_NO_SLOT)
		policy->begins[rule->begin_slot] = rule;
}

void ada_policy_slots_free(struct ada_policy *policy, const struct ada_policy_rule *rule, uint32_t version)
{
	policy->freed[rule->slot] = version;
	if (rule->begin_slot == ADA_NO_SLOT)
		return;
	policy->begins[rule->begin_slot] = NULL;
	policy->freed[rule->begin_slot] = version;
}

const struct ada_rule *ada_policy_slot_form(const struct ada_policy *policy, uint32_t slot, int *flags)
{
	const struct ada_policy_rule *rule = ada_policy_in_slot(policy, slot), *begins = policy->begins[slot];

	*flags = rule ? rule->flags : begins ? begins->flags : 0;
	return rule ? &rule->agent : begins ? &begins->begin : NULL;
}
