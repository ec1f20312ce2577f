/* after=, every= and limit= of a rule, for judges outside the traced process: the recorder (rules of CPU, memory, time, and by hand) and
 * the replay of a stored session. src/agent/judge/judge.c has the same on atomics. */
#ifndef ADA_TRIGGER_GATE_H
#define ADA_TRIGGER_GATE_H
#include <stdbool.h>
#include "abi/policy.h"

struct ada_gate {
	uint64_t after, every, limit, limit_span;
}; /* limit_span in the unit of `now` */

/* An event fits the rule: counts it, and says whether it marks. */
static inline bool ada_gate_pass(struct ada_rule_state *state, const struct ada_gate *gate, uint64_t now)
{
	uint64_t number = state->matches++; /* of this match, from 0 */
	if (number < gate->after || (gate->every > 1 && (number - gate->after) % gate->every))
		return false;
	if (gate->limit) {
		if (!state->limit_count || now - state->limit_start >= gate->limit_span) {
			state->limit_start = now;
			state->limit_count = 0;
		}
		if (state->limit_count >= gate->limit)
			return false;
		state->limit_count++;
	}
	state->marks++;
	state->last_counter = now;
	return true;
}
#endif
