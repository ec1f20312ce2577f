/* One event against one rule: abi/rules.h has the answer, as for the judge in the traced process. This file adds what files can tell. */
#include "query/replay/internal.h"

#define NO_CALLER UINT64_MAX /* no call is open: that is a caller, too */

/* The open call's function, which is one more than its id here: 0 would say that it isn't known. */
static uint64_t caller_of(const struct ada_replay_track *track, const struct ada_event *call)
{
	uint64_t depth = call->call_depth;
	uint64_t function = depth && depth <= track->functions.count ? track->functions.items[depth - 1] : UINT64_MAX;

	return function == UINT64_MAX ? NO_CALLER : function + 1;
}

static struct ada_rule_event seen_of(const struct ada_moment *moment, struct ada_replay_track *track)
{
	return (struct ada_rule_event){ .counter = moment->event->timestamp_ns,
					.duration = moment->duration_ns,
					.caller = caller_of(track, moment->event),
					.kind = moment->event->event_kind,
					.depth = moment->event->call_depth,
					.timed = moment->duration_known,
					.descent = &track->descent };
}

/* A session holds no CPU times and no types of exceptions: such rules are refused, except `exception` of any type. */
static bool event_ask(void *context, const struct ada_rule *rule, uint64_t *value)
{
	return rule->kind == ADA_RULE_EXCEPTION || ada_replay_register(context, value);
}

static void show(const struct ada_rule *rule, uint64_t value, struct ada_replay_hit *hit)
{
	hit->value.u = value;
	switch (rule->kind) {
	case ADA_RULE_ARG:
	case ADA_RULE_RETURN: ada_replay_show(rule, value, hit); break;
	case ADA_RULE_LATENCY:
	case ADA_RULE_PERCENTILE: hit->kind = ADA_REPLAY_NS; break;
	case ADA_RULE_DEPTH: hit->kind = ADA_REPLAY_NUMBER; break;
	case ADA_RULE_RATE:
		hit->kind = ADA_REPLAY_NUMBER;
		hit->value.u = rule->operand.u + 1;
		break;
	case ADA_RULE_NEW_CALLER: hit->kind = value == NO_CALLER ? ADA_REPLAY_NO_VALUE : ADA_REPLAY_NAME; hit->value.u = value - 1;
	}
}

bool ada_replay_fits(const struct ada_trigger *trigger, struct ada_replay_event *event, struct ada_replay_hit *hit, uint64_t *untold)
{
	const struct ada_event *now = event->moment->event;
	uint64_t value = 0;

	/* Where no call that throws was recorded, the first frame that an exception left stands for it. */
	event->seen = (struct ada_rule_event){ .counter = now->timestamp_ns };
	if (event->rule->kind == ADA_RULE_EXCEPTION && now->event_kind == ADA_EVENT_EXCEPTION)
		return now->call_depth >= event->track->unwinding;
	if (!event->sides && !(event->rule->flags & ADA_RULE_GLOBAL))
		return false;
	if ((trigger->kind == ADA_RULE_ARG || trigger->kind == ADA_RULE_RETURN) &&
	    !ada_replay_value(trigger, event, ADA_TRIGGER_ENDS, untold))
		return false;
	event->seen = seen_of(event->moment, event->track);
	if (trigger->kind == ADA_RULE_SPAN)
		return ada_replay_span(trigger, event, hit, untold);
	if (!ada_rule_fits(event->rule, &event->seen, event_ask, event, &value))
		return false;
	show(event->rule, value, hit);
	return true;
}
