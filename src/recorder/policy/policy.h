/* The marking policy of a session: its rules, and their compiled form in each provider's segment (abi/policy.h).
 *
 * Thread-safe: modules come on server threads, commands on the control thread, the rest on the main thread. A rule keeps its id for the
 * session and its slot while it lives. Every change makes a new version, which is compiled for every provider and swapped in.
 */
#ifndef ADA_RECORDER_POLICY_H
#define ADA_RECORDER_POLICY_H
#include "plan/plan.h"
#include "recorder/host/options.h"
#include "trigger/capture.h"
#include "trigger/trigger.h"

struct ada_policy;
struct ada_provider;
struct ada_recorder;
/* Parses options->triggers: -EINVAL with a line that names the origin. Warnings go to stderr. */
int ada_policy_open(struct ada_policy **policy, const struct ada_trace_options *options, double ticks_per_ns, struct ada_error *error);
void ada_policy_close(struct ada_policy *policy);
const struct ada_capture_list *ada_policy_asked_captures(const struct ada_policy *policy);   /* --capture */
const struct ada_capture_list *ada_policy_asked_redactions(const struct ada_policy *policy); /* --redact */
void ada_policy_attach(struct ada_policy *policy, struct ada_recorder *recorder); /* the recorder for whose providers the policy compiles */

/* Makes a new provider's tables, before its agent runs. `parent` (may be NULL): the provider whose modules it has, with the same
 * numbers. */
int ada_policy_provider(struct ada_policy *policy, struct ada_provider *provider, const struct ada_provider *parent);
/* Gives a module's functions their numbers and flags, before the agent's reply is sent; returns function_base, 0 where there is no
 * room. */
uint32_t ada_policy_module(struct ada_policy *policy, struct ada_provider *provider, uint32_t module_id, const char *path,
			   const struct ada_plan *plan);
/* Does any rule name a function of this plan (names suffice)? Then the module is planned in full, and these functions are
 * hooked though it isn't traced. */
bool ada_policy_names(struct ada_policy *policy, const struct ada_plan *plan, const char *path);
/* Does a rule in force name this function of it? -EAGAIN: the policy is being changed. */
int ada_policy_names_function(struct ada_policy *policy, const struct ada_plan *plan, uint32_t function);
/* That function's hook lets calls pass from now on, or records them again: without a stop, for it is the hook itself that looks (abi/policy.h).
 * What a process has muted its forks' children begin with. False: the function has no number of its own, or there is no memory or segment. When a module comes
 * whose numbers another one has, none of these is muted any more. Main thread. */
bool ada_policy_mute(struct ada_policy *policy, struct ada_provider *provider, uint64_t function_id, bool muted);
bool ada_policy_is_muted(struct ada_policy *policy, struct ada_provider *provider, uint64_t function_id);
/* Keeps late patches out, without waiting. False: one is under way. */
bool ada_policy_late_hold(struct ada_policy *policy);
void ada_policy_late_release(struct ada_policy *policy);
/* Bit by hook number of a decoded plan: hooks of functions that rules name. malloc'ed; NULL: none or no memory. */
uint8_t *ada_policy_hooks(struct ada_policy *policy, const struct ada_plan *plan, uint32_t *bytes);
/* Notes what the agent is told to hook of a module: bits by hook number of a decoded plan; NULL: all. */
void ada_policy_hooked(struct ada_policy *policy, struct ada_provider *provider, uint32_t module_id, const struct ada_plan *plan,
		       const uint8_t *hooks);
/* A module is loaded again: ada_policy_late_hooks will say what rules have come to name in it since. */
void ada_policy_again(struct ada_policy *policy, struct ada_provider *provider, uint32_t module_id);
/* A late patch asks for a module: the hooks that are to be there from now on, malloc'ed; NULL: nothing new. */
struct ada_planned;
uint8_t *ada_policy_late_hooks(struct ada_policy *policy, struct ada_provider *provider, uint32_t module_id,
			       const struct ada_planned **planned, uint32_t *function_base);
/* A conversation has ended that began under this version (a fork's child: 1). Where the policy has changed since, puts in the hooks that
 * are wanted by now and that neither the conversation nor ada_policy_add saw to. */
void ada_policy_catch_up(struct ada_policy *policy, struct ada_provider *provider, uint32_t version);
/* The provider's segment goes: keeps what its rules counted. Under provider->lock. */
void ada_policy_leave(struct ada_policy *policy, struct ada_provider *provider);
/* When the program is loaded: a warning for each pattern that fits no function yet, with the nearest names. */
void ada_policy_warn_unknown(struct ada_policy *policy, struct ada_provider *provider);

/* Changes the rules while the program runs. 0, and ada_policy_version is the new one; before ada_policy_add returns, functions that a new
 * rule names are hooked in every process. With 0, too, error->text may hold a warning: that no function is called so, or that one can't
 * be hooked in some process; the rule is in force all the same. Or -EINVAL, -ENOSPC (64 rules), -ENOENT with one line. */
int ada_policy_add(struct ada_policy *policy, const char *text, uint32_t *id, struct ada_error *error);
int ada_policy_remove(struct ada_policy *policy, uint32_t id, struct ada_error *error);

struct ada_rule_info {
	uint32_t id, slot, since, until;   /* versions; until UINT32_MAX: in force */
	const struct ada_trigger *trigger; /* lives as long as the policy */
	struct ada_rule rule;		   /* the agent's form */
	uint64_t matches, marks;	   /* of all providers; from ada_policy_rule: of those that are gone */
	bool redacted;			   /* what it compares is nothing that the recording may say */
	uint64_t overlooked;		   /* likewise: what the rule could not remember */
};
/* All below may be called under any lock. */
/* A rule that the recorder itself judges (ada_fire) fits: counts the match, and says whether it marks; -EAGAIN: the rule isn't in force
 * in this process yet. The state of the rule's slot lies in the segment like any other's, so that all are counted in one place, but no
 * agent touches it. Another thread that gives the slot to another rule takes the incarnation away first. Main thread, while the segment
 * is mapped. */
int ada_policy_pass(struct ada_policy *policy, const struct ada_provider *provider, const struct ada_rule *rule, uint32_t slot,
		    uint64_t counter);
/* Which arguments of a function --redact drops: bit N, of 1 to 6. */
uint32_t ada_policy_redacted(struct ada_policy *policy, const struct ada_provider *provider, uint64_t function_id);
size_t ada_policy_rules(struct ada_policy *policy, struct ada_rule_info *rules, size_t room); /* those in force, by id */
/* The rule that had this slot under this version; false: none. */
bool ada_policy_rule(struct ada_policy *policy, uint32_t version, uint32_t slot, struct ada_rule_info *info);
uint32_t ada_policy_version(struct ada_policy *policy);
/* "v3" and a hash of the rules in their order, 16 hex digits; for manifests: "v3-0123456789abcdef" is a window's keySymbolVersion. */
void ada_policy_hash(struct ada_policy *policy, uint32_t version, char hash[17]);
struct ada_policy_cost {
	uint64_t compiles, last_ns, total_ns, functions_matched, names_tried;
};
void ada_policy_cost(struct ada_policy *policy, struct ada_policy_cost *cost);
#endif
