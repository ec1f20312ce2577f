/* One event against one rule. Each kind as src/agent/judge/judge.c has it; src/abi/policy.h says in a line what each marks. */
#include <errno.h>
#include "query/replay/internal.h"

#define RATE_RING_MAX (1u << 24) /* calls remembered */
#define PER_100000 100000u

static bool holds(enum ada_rule_op op, uint64_t left, uint64_t right)
{
	switch (op) {
	case ADA_OP_LT: return left < right;
	case ADA_OP_LE: return left <= right;
	case ADA_OP_EQ: return left == right;
	case ADA_OP_NE: return left != right;
	case ADA_OP_GE: return left >= right;
	case ADA_OP_GT: return left > right;
	default: return true;
	}
}

static bool is_end(const struct ada_event *event)
{
	return event->event_kind == ADA_EVENT_RETURN || event->event_kind == ADA_EVENT_EXCEPTION;
}

static bool take_duration(const struct ada_moment *moment, struct ada_replay_hit *hit)
{
	hit->kind = ADA_REPLAY_NS;
	hit->value.u = moment->duration_ns;
	return is_end(moment->event) && moment->duration_known;
}

static bool swap_bit(uint64_t *bits, uint64_t at, bool bit)
{
	bool before = bits[at / 64] >> at % 64 & 1;

	bits[at / 64] = (bits[at / 64] & ~(1ull << at % 64)) | (uint64_t)bit << at % 64;
	return before;
}

/* By nearest rank the percentile exceeds the bound where more than n - ceil(p n) of the last n durations do. */
static int judge_percentile(const struct ada_trigger *trigger, const struct ada_replay_event *event, struct ada_replay_hit *hit)
{
	struct ada_replay_process *state = event->track->state;
	uint64_t over = trigger->over, least, count, rank;
	bool above, exceeds;

	if (!event->named || !over || !take_duration(event->moment, hit))
		return 0;
	while (state->ring.count < (over + 63) / 64)
		if (ada_array_push(&state->ring, 0))
			return -ENOMEM;
	exceeds = holds(trigger->op, hit->value.u, (uint64_t)trigger->integer);
	state->exceeding += exceeds;
	state->exceeding -= swap_bit(state->ring.items, state->samples++ % over, exceeds);
	count = state->samples < over ? state->samples : over;
	least = (PER_100000 + (PER_100000 - trigger->percentile) - 1) / (PER_100000 - trigger->percentile);
	if (count < (least < over ? least : over))
		return 0;
	rank = (count * trigger->percentile + PER_100000 - 1) / PER_100000;
	above = state->exceeding > count - rank;
	exceeds = above && !state->above;
	state->above = above;
	return exceeds;
}

/* The ring holds the times of the last `bound` calls before this one: the oldest within the unit makes it one too many. */
static int judge_rate(const struct ada_trigger *trigger, const struct ada_replay_event *event, struct ada_replay_hit *hit)
{
	struct ada_replay_process *state = event->track->state;
	uint64_t bound = (uint64_t)trigger->integer, now = hit->ns;
	bool above, begins;

	if (!event->named || event->moment->event->event_kind != ADA_EVENT_CALL)
		return 0;
	bound = bound > RATE_RING_MAX ? RATE_RING_MAX : bound;
	if (!bound) {
		above = true;
	} else if (state->samples < bound) {
		if (ada_array_push(&state->ring, now))
			return -ENOMEM;
		above = false;
	} else {
		uint64_t *oldest = &state->ring.items[state->samples % bound];

		above = now - *oldest < trigger->per_ns;
		*oldest = now;
	}
	state->samples++;
	begins = above && !state->above;
	state->above = above;
	hit->kind = ADA_REPLAY_NUMBER;
	hit->value.u = bound + 1;
	return begins;
}

/* Whole numbers: >= n was read as > n - 1. Without a function the rule marks the call that goes below the bound, not the calls that this
 * one makes. The replay marks each such call; the agent, having marked, looks again only now and then. */
static int judge_depth(const struct ada_trigger *trigger, const struct ada_replay_event *event, struct ada_replay_hit *hit)
{
	uint64_t depth = event->moment->event->call_depth;

	hit->kind = ADA_REPLAY_NUMBER;
	hit->value.u = depth;
	if (event->moment->event->event_kind != ADA_EVENT_CALL || depth <= (uint64_t)trigger->integer)
		return 0;
	return trigger->patterns.count ? event->named : depth == (uint64_t)trigger->integer + 1;
}

/* The rule learns from the calls that `after` leaves out. */
static int judge_caller(const struct ada_trigger *trigger, const struct ada_replay_event *event, struct ada_replay_hit *hit)
{
	const struct ada_event *call = event->moment->event;
	uint64_t depth = call->call_depth, caller = UINT64_MAX, known;

	if (!event->named || call->event_kind != ADA_EVENT_CALL)
		return 0;
	event->track->state->samples++;
	if (depth && depth <= event->track->functions.count)
		caller = event->track->functions.items[depth - 1];
	if (caller != UINT64_MAX) {
		hit->kind = ADA_REPLAY_NAME;
		hit->value.u = caller;
	}
	if (ada_table_get(&event->track->state->callers, caller, &known))
		return 0;
	if (ada_table_put(&event->track->state->callers, caller, 1))
		return -ENOMEM;
	return event->track->state->samples > trigger->after;
}

/* A call that throws or, where no such call was recorded, the first frame that an exception left. */
static int judge_exception(const struct ada_replay_event *event)
{
	const struct ada_event *now = event->moment->event;

	if (now->event_kind == ADA_EVENT_CALL)
		return event->named;
	return now->event_kind == ADA_EVENT_EXCEPTION && now->call_depth >= event->track->unwinding;
}

int ada_replay_judge(const struct ada_trigger *trigger, const struct ada_replay_event *event, struct ada_replay_hit *hit, uint64_t *untold)
{
	switch (trigger->kind) {
	case ADA_RULE_SYMBOL: return event->named && event->moment->event->event_kind == ADA_EVENT_CALL;
	case ADA_RULE_ARG:
	case ADA_RULE_RETURN: return ada_replay_judge_value(trigger, event, hit, untold);
	case ADA_RULE_LATENCY:
		return event->named && take_duration(event->moment, hit) && holds(trigger->op, hit->value.u, (uint64_t)trigger->integer);
	case ADA_RULE_PERCENTILE: return judge_percentile(trigger, event, hit);
	case ADA_RULE_RATE: return judge_rate(trigger, event, hit);
	case ADA_RULE_DEPTH: return judge_depth(trigger, event, hit);
	case ADA_RULE_NEW_CALLER: return judge_caller(trigger, event, hit);
	case ADA_RULE_EXCEPTION: return judge_exception(event);
	default: return 0;
	}
}
