/* A policy and a provider without a process: what tests of the policy read is what an agent would. */
#ifndef ADA_TESTS_RECORDER_POLICY_FIXTURE_H
#define ADA_TESTS_RECORDER_POLICY_FIXTURE_H
#include "recorder/policy/policy.h"
#include "recorder/state/state.h"

#define POLICY_RULES(...)                                                                                                                  \
	(const char *[])                                                                                                                   \
	{                                                                                                                                  \
		__VA_ARGS__, NULL                                                                                                          \
	}

/* Functions of this very program, for rules to name. */
int ada_test_alpha(int x);
long ada_test_beta(long x);

struct ada_policy *policy_open(const char **rules); /* NULL: none given */
struct ada_provider *policy_provider(struct ada_policy *policy, const struct ada_provider *parent);
void policy_provider_close(struct ada_policy *policy, struct ada_provider *provider);
struct ada_plan *policy_plan(bool decode);				 /* of this program */
uint32_t policy_function(const struct ada_plan *plan, const char *name); /* symbolIndex */

/* What a reader decides about a function, as abi/policy.h prescribes. */
struct policy_decision {
	uint32_t version;
	uint8_t flags;
	uint64_t mask;
	uint64_t after; /* sum of it over the mask's rules */
	uint32_t slot;	/* of the lowest one; its own `after`: */
	uint64_t slot_after;
	bool torn; /* incarnation or kind missing */
};
struct policy_decision policy_decide(const struct ada_shm *shm, uint32_t number);
#endif
