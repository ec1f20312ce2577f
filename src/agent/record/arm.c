/* What the hook compares a new frame with: the policy in force (abi/policy.h), and its depth rules. */
#include "agent/record/lane.h"

const uint8_t *ada_policy_flags(void)
{
	return (const uint8_t *)ada_setup.policy + __atomic_load_n(ada_setup.policy, __ATOMIC_ACQUIRE);
}

/* Depth rules without function. The hook compares each new frame with shadow_end anyway: so shadow_end sends it here at the first frame
 * that is deeper than the nearest such rule allows. Rules whose depth is exceeded already stay out of sight until the frame that exceeded
 * it is left: that frame is watched, with its slot written 1 lower. Since no slot is odd, a watched one is neither the next call's nor
 * near below it, and whatever the hook does with that frame comes here. The table may change as it is read: then the limit is wrong until
 * the next slow path (each chunk has one), and the judge decides by the table in force.
 */
void ada_shadow_arm(struct ada_thread *thread)
{
	const struct ada_policy_table *table = (const void *)(ada_policy_flags() - ADA_POLICY_FLAGS);
	uint64_t depth, nearest = ADA_SHADOW_FRAMES;

	thread->shadow_end = thread->shadow_limit;
	if (!thread->shadow_limit || !table->version || table->depth_limit >= ADA_SHADOW_FRAMES)
		return;
	depth = ada_frames(thread); /* of the next call */
	for (uint64_t rules = table->global_calls; rules; rules &= rules - 1) {
		uint64_t limit = table->rules[__builtin_ctzll(rules)].operand.u;

		if (limit + 1 >= depth && limit < nearest)
			nearest = limit;
	}
	if ((uint64_t)ada_frame_at(thread, nearest + 1) < thread->shadow_limit)
		thread->shadow_end = (uint64_t)ada_frame_at(thread, nearest + 1);
}
