/* Rules of arguments and results: from the detail that was persisted. Integer arguments and results lie in x (DESIGN 3.8:
 * on CALL rdi rsi rdx rcx r8 r9, on RETURN rax rdx xmm0 xmm1). */
#include <string.h>
#include "atf.h"
#include "query/replay/internal.h"
#include "query/session/windows.h"

enum { RETURN_REAL = 2 }; /* x: low half of xmm0 */

/* Reading DWARF takes long: once a function. */
static enum ada_value_type type_of(const struct ada_trigger *trigger, const struct ada_process *process, uint64_t function_id,
				   struct ada_table *types)
{
	struct ada_module *module = ada_process_module(process, function_id);
	struct ada_symbol *symbol = module ? ada_module_symbol(module, ADA_FUNCTION_SYMBOL(function_id)) : NULL;
	uint64_t type;

	if (trigger->type_given)
		return trigger->type;
	if (ada_table_get(types, function_id, &type))
		return (enum ada_value_type)type;
	type = ada_value_type_of(module ? module->path : NULL, symbol ? symbol->mangled : "", trigger->argument);
	ada_table_put(types, function_id, type);
	return (enum ada_value_type)type;
}

static int order(double left, double right)
{
	return left < right ? -1 : left > right;
}

static bool holds(enum ada_rule_op op, int ordered)
{
	switch (op) {
	case ADA_OP_LT: return ordered < 0;
	case ADA_OP_LE: return ordered <= 0;
	case ADA_OP_EQ: return ordered == 0;
	case ADA_OP_NE: return ordered != 0;
	case ADA_OP_GE: return ordered >= 0;
	case ADA_OP_GT: return ordered > 0;
	default: return true;
	}
}

static int64_t as_signed(enum ada_value_type type, uint64_t raw)
{
	switch (type) {
	case ADA_VALUE_I32: return (int32_t)raw;
	case ADA_VALUE_I16: return (int16_t)raw;
	case ADA_VALUE_I8: return (int8_t)raw;
	default: return (int64_t)raw;
	}
}

static uint64_t as_unsigned(enum ada_value_type type, uint64_t raw)
{
	switch (type) {
	case ADA_VALUE_U32: return (uint32_t)raw;
	case ADA_VALUE_U16: return (uint16_t)raw;
	case ADA_VALUE_U8: return (uint8_t)raw;
	default: return raw;
	}
}

/* The operand is the one that src/trigger makes for the agent, fit for the type. */
static bool compare(const struct ada_trigger *trigger, enum ada_value_type type, const uint64_t x[8], struct ada_replay_hit *hit)
{
	static const struct ada_rolls none;
	uint64_t raw = trigger->kind == ADA_RULE_ARG ? x[trigger->argument - 1] : x[0];
	struct ada_rule rule;

	ada_trigger_rule(trigger, 1.0, &none, type, &rule);
	if (rule.type == ADA_VALUE_F64 || rule.type == ADA_VALUE_F32) {
		float small;

		raw = trigger->kind == ADA_RULE_ARG ? raw : x[RETURN_REAL];
		hit->kind = ADA_REPLAY_REAL;
		memcpy(&hit->value.f, &raw, sizeof raw);
		memcpy(&small, &raw, sizeof small);
		if (rule.type == ADA_VALUE_F32)
			hit->value.f = small;
		if (hit->value.f != hit->value.f) /* no number */
			return rule.op == ADA_OP_NE;
		return holds(rule.op, order(hit->value.f, rule.operand.f));
	}
	if (rule.type <= ADA_VALUE_I8) {
		hit->kind = ADA_REPLAY_SIGNED;
		hit->value.i = as_signed(rule.type, raw);
		return holds(rule.op, hit->value.i < rule.operand.i ? -1 : hit->value.i > rule.operand.i);
	}
	hit->kind = ADA_REPLAY_NUMBER;
	hit->value.u = as_unsigned(rule.type, raw);
	return holds(rule.op, hit->value.u < rule.operand.u ? -1 : hit->value.u > rule.operand.u);
}

int ada_replay_judge_value(const struct ada_trigger *trigger, const struct ada_replay_event *event, struct ada_replay_hit *hit,
			   uint64_t *untold)
{
	const struct ada_moment *moment = event->moment;
	uint32_t wanted = trigger->kind == ADA_RULE_ARG ? ADA_EVENT_CALL : ADA_EVENT_RETURN;
	struct atf_detail detail;

	if (!event->named || moment->event->event_kind != wanted)
		return 0;
	if (ada_thread_detail(moment->thread, moment->position, &detail)) {
		++*untold;
		return 0;
	}
	return compare(trigger, type_of(trigger, moment->thread->process, moment->event->function_id, &event->track->state->types),
		       detail.x, hit);
}
