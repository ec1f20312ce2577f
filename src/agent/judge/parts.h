/* What the files of the judge share: judge.c decides and applies, by what abi/rules.h says of each rule; type.c knows exceptions' types,
 * cpu.c measures, descent.c keeps descents, mark.c enters marks and pins.
 *
 * Whether a rule fits may be asked twice, when the policy changes meanwhile. What it remembers is brought up to date once.
 */
#ifndef ADA_AGENT_JUDGE_PARTS_H
#define ADA_AGENT_JUDGE_PARTS_H
#include <stdbool.h>
#include "abi/rules.h"
#include "agent/core/core.h"
#include "agent/ground/mem.h"
#include "agent/judge/judge.h"

/* A rule is copied out of the table up to its signals: all that the second step needs. */
#define ADA_RULE_WORDS (offsetof(struct ada_rule, signals) / 8)
struct ada_fit { /* a rule that fits the event, as far as rule and event tell */
	uint32_t slot;
	uint64_t value; /* what was compared */
	uint64_t rule[ADA_RULE_WORDS];
};

static inline const struct ada_rule *ada_fit_rule(const struct ada_fit *fit)
{
	return (const struct ada_rule *)fit->rule;
}

struct ada_cpu_time {
	bool known, asked;
	uint64_t ns;
}; /* duration of the call that ends; known: its beginning was seen */

/* --- type.c */
/* Whether the type that this event (a call of __cxa_throw) throws matches the glob; an empty glob matches every throw. */
#define ADA_TYPE_NAME_BYTES 256 /* of a mangled name; a longer one is cut */
struct ada_type_names {
	char mangled[ADA_TYPE_NAME_BYTES], plain[ADA_TYPE_NAME_BYTES + 32];
}; /* for it to work in */
bool ada_type_matches(const struct ada_judged *event, const char *pattern, size_t room, struct ada_type_names *names);

/* --- cpu.c: thread CPU time of the calls in progress that CPU rules name */
void ada_cpu_begin(uint64_t slot, uint32_t number);
bool ada_cpu_end(uint64_t slot, uint32_t number, uint64_t *ns); /* false: its beginning is not known */

/* --- descent.c: where the descent is kept that a rule of depth marked on this thread (struct ada_rule_event) */
uint32_t *ada_descent_of(uint32_t slot, uint32_t incarnation, uint32_t thread);
void ada_descents_forget(void);

/* --- mark.c */
/* Adds a rule to a mark under construction. */
void ada_mark_add(struct ada_mark *mark, uint32_t slot, const struct ada_rule *rule);
void ada_mark_enter(struct ada_shm *shm, struct ada_mark *mark); /* into the ring, then the pin */
#endif
