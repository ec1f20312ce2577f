/* Marks of the recorder's own: by hand, and by what it samples. Main thread. */
#ifndef ADA_RECORDER_FIRE_H
#define ADA_RECORDER_FIRE_H
#include "recorder/policy/policy.h"
#include "recorder/state/state.h"

/* Rules in force of the wanted kinds (bits, 1 << kind), and the policy's version. */
struct ada_firing {
	struct ada_rule_info rules[ADA_RULES_MAX];
	size_t count;
	uint32_t version;
};
void ada_firing_take(struct ada_firing *firing, struct ada_policy *policy, uint64_t kinds);

/* The rule fits now in this process, which may have ended but is not released: counts the match, and marks where after, every and limit
 * let it. post_ticks: the least post-roll. 1: a mark. 0: no mark. -EAGAIN: the process doesn't have the rule yet, or its segment is
 * gone. */
int ada_fire(struct ada_provider *provider, const struct ada_firing *firing, const struct ada_rule_info *info, uint64_t counter,
	     uint64_t value, uint64_t post_ticks);
/* Marks under every rule `manual`, in every process. -ENOENT: there is no such rule. */
int ada_fire_manual(struct ada_recorder *recorder, const char *label, size_t *processes, struct ada_error *error);
#endif
