/* From a trigger to the agent's form of it (abi/policy.h). */
#include <string.h>
#include <time.h>
#include "trigger/trigger.h"

#define SECOND_NS 1000000000ull

bool ada_trigger_may_match(const struct ada_trigger *trigger, const char *mangled)
{
	for (size_t i = 0; i < trigger->patterns.count; i++)
		if (ada_pattern_may_match(&trigger->patterns.items[i], mangled))
			return true;
	return false;
}

bool ada_trigger_means(const struct ada_trigger *trigger, size_t pattern, const struct ada_names *names)
{
	bool compares_argument = trigger->kind == ADA_RULE_ARG || trigger->kind == ADA_RULE_SPAN;

	return compares_argument ? ada_pattern_matches_itself(&trigger->patterns.items[pattern], names) :
				   ada_pattern_matches(&trigger->patterns.items[pattern], names);
}

unsigned ada_trigger_sides(const struct ada_trigger *trigger, const struct ada_names *names)
{
	unsigned sides = 0;

	for (size_t i = 0; i < trigger->patterns.count; i++)
		if (ada_trigger_means(trigger, i, names))
			sides |= ada_trigger_side_of(trigger, i);
	return sides;
}

int ada_trigger_flags(const struct ada_trigger *trigger)
{
	switch (trigger->kind) {
	case ADA_RULE_SYMBOL:
	case ADA_RULE_ARG:
	case ADA_RULE_RATE:
	case ADA_RULE_NEW_CALLER:
	case ADA_RULE_SPAN:
	case ADA_RULE_EXCEPTION: return ADA_POLICY_CALL;
	case ADA_RULE_RETURN:
	case ADA_RULE_LATENCY:
	case ADA_RULE_PERCENTILE: return ADA_POLICY_RETURN;
	case ADA_RULE_CPU: /* the call's CPU time is what it adds from CALL to RETURN */ return ADA_POLICY_CALL | ADA_POLICY_RETURN;
	case ADA_RULE_DEPTH: /* the return ends the descent */ return trigger->patterns.count ? ADA_POLICY_CALL | ADA_POLICY_RETURN : 0;
	default: return 0;
	}
}

static uint64_t to_ticks(uint64_t ns, double ticks_per_ns)
{
	double ticks = (double)ns * ticks_per_ns + 0.5;

	return ticks < (double)INT64_MAX ? (uint64_t)ticks : (uint64_t)INT64_MAX;
}

static bool is_unsigned(enum ada_value_type type)
{
	return type >= ADA_VALUE_U64 && type <= ADA_VALUE_U8;
}

/* Bits of an integer type. */
static unsigned width(enum ada_value_type type)
{
	return 64u >> (is_unsigned(type) ? type - ADA_VALUE_U64 : type);
}

/* The agent compares 64 bits and widens values of narrower types; we widen the operand. `return=f==-1` means all bits set, also for an
 * unsigned type, and ==0xffffffff is -1 for an int. But a negative number is below all unsigned values. */
static void set_integer(const struct ada_trigger *trigger, struct ada_rule *rule)
{
	enum ada_value_type type = rule->type;
	uint64_t value = (uint64_t)trigger->integer;
	bool equality = rule->op == ADA_OP_EQ || rule->op == ADA_OP_NE;

	if (is_unsigned(type) && trigger->negative && !equality) {
		rule->op = rule->op == ADA_OP_LT || rule->op == ADA_OP_LE ? ADA_OP_LT : ADA_OP_GE;
		value = 0; /* never, always */
	} else if (is_unsigned(type) && trigger->negative && width(type) < 64) {
		value &= ((uint64_t)1 << width(type)) - 1;
	} else if (!is_unsigned(type) && equality && width(type) < 64 && value >> (width(type) - 1) == 1) {
		value |= UINT64_MAX << (width(type) - 1);
	}
	rule->operand.u = value;
}

static void set_operand(const struct ada_trigger *trigger, double ticks_per_ns, struct ada_rule *rule)
{
	switch (trigger->unit) {
	case ADA_TRIGGER_NO_VALUE: break;
	case ADA_TRIGGER_REAL:
		if (rule->type < ADA_VALUE_F64) /* 0.5 is no integer: a value that fits can only lie in xmm0 */
			rule->type = ADA_VALUE_F64;
		rule->operand.f = trigger->real;
		break;
	case ADA_TRIGGER_SHARE: rule->operand.f = trigger->real; break;
	case ADA_TRIGGER_NS: /* a CPU's time is counted in ns */
		rule->operand.u = trigger->kind == ADA_RULE_CPU ? (uint64_t)trigger->integer :
								  to_ticks((uint64_t)trigger->integer, ticks_per_ns);
		break;
	case ADA_TRIGGER_INTEGER:
		if (rule->type >= ADA_VALUE_F64)
			rule->operand.f = trigger->negative ? (double)trigger->integer : (double)(uint64_t)trigger->integer;
		else
			set_integer(trigger, rule);
		break;
	case ADA_TRIGGER_BYTES:
	case ADA_TRIGGER_RATE: rule->operand.i = trigger->integer; break;
	}
}

void ada_trigger_rule(const struct ada_trigger *trigger, double ticks_per_ns, const struct ada_rolls *rolls, enum ada_value_type type,
		      struct ada_rule *rule)
{
	bool typed = trigger->kind == ADA_RULE_RETURN || trigger->kind == ADA_RULE_ARG || trigger->kind == ADA_RULE_SPAN;
	struct ada_rolls own = *rolls;

	*rule = (struct ada_rule){ .kind = trigger->kind,
				   .op = (uint8_t)trigger->op,
				   .argument = (uint8_t)trigger->argument,
				   .percentile = trigger->percentile,
				   .over = trigger->over,
				   .per_ticks = to_ticks(trigger->per_ns, ticks_per_ns),
				   .after = trigger->after,
				   .every = trigger->every,
				   .limit = trigger->limit,
				   .limit_ticks = to_ticks(trigger->limit_ns, ticks_per_ns),
				   .signals = trigger->signals };
	rule->flags = ADA_RULE_ENABLED | (trigger->patterns.count ? 0 : ADA_RULE_GLOBAL);
	if (typed)
		rule->type = trigger->type_given ? trigger->type : type;
	set_operand(trigger, ticks_per_ns, rule);
	if (trigger->pre_given) {
		own.pre_ns = trigger->pre_ns;
		own.pre_events = trigger->pre_events;
	}
	if (trigger->post_given) {
		own.post_ns = trigger->post_ns;
		own.post_events = trigger->post_events;
	}
	rule->pre_ticks = to_ticks(own.pre_ns, ticks_per_ns);
	rule->pre_events = own.pre_events;
	rule->post_ticks = to_ticks(own.post_ns, ticks_per_ns);
	rule->post_events = own.post_events;
	memcpy(rule->name, trigger->exception, sizeof rule->name);
}

void ada_trigger_begin_rule(const struct ada_trigger *trigger, const struct ada_rule *ends, enum ada_value_type type, uint32_t slot,
			    struct ada_rule *rule)
{
	*rule = (struct ada_rule){ .kind = ADA_RULE_SPAN_BEGIN,
				   .flags = ends->flags,
				   .incarnation = ends->incarnation,
				   .type = trigger->type_given ? trigger->type : type,
				   .argument = (uint8_t)trigger->begin_argument,
				   .span = (uint8_t)slot };
}

uint64_t ada_trigger_left_ns(const struct ada_trigger *trigger, uint64_t wall_ns)
{
	bool over_midnight = trigger->from_minute > trigger->to_minute, begun, ends;
	time_t now = (time_t)(wall_ns / SECOND_NS), last;
	struct tm local, end;
	uint32_t minute;

	localtime_r(&now, &local);
	minute = (uint32_t)(local.tm_hour * 60 + local.tm_min);
	begun = minute >= trigger->from_minute;
	ends = minute < trigger->to_minute;
	if (over_midnight ? !begun && !ends : !begun || !ends)
		return 0;
	/* By the calendar, so that a day of 23 or 25 hours is right too. */
	end = local;
	end.tm_mday += over_midnight && begun;
	end.tm_hour = (int)trigger->to_minute / 60;
	end.tm_min = (int)trigger->to_minute % 60;
	end.tm_sec = 0;
	end.tm_isdst = -1;
	last = mktime(&end);
	return last > now ? (uint64_t)last * SECOND_NS - wall_ns : 1;
}
