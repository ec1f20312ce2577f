/* Rules of arguments and results: from the detail that was persisted. Integer arguments and results lie in x (DESIGN 3.8:
 * on CALL rdi rsi rdx rcx r8 r9, on RETURN rax rdx xmm0 xmm1). */
#include <string.h>
#include "query/replay/internal.h"
#include "query/session/windows.h"

enum { RETURN_REAL = 2 }; /* x: low half of xmm0 */

/* Reading DWARF takes long: once a function. */
static enum ada_value_type type_of(const struct ada_trigger *trigger, const struct ada_process *process, uint64_t function_id, int argument,
				   struct ada_table *types)
{
	struct ada_module *module = ada_process_module(process, function_id);
	struct ada_symbol *symbol = module ? ada_module_symbol(module, ADA_FUNCTION_SYMBOL(function_id)) : NULL;
	uint64_t type;

	if (trigger->type_given)
		return trigger->type;
	if (ada_table_get(types, function_id, &type))
		return (enum ada_value_type)type;
	type = ada_value_type_of(module ? module->path : NULL, symbol ? symbol->mangled : "", argument);
	ada_table_put(types, function_id, type);
	return (enum ada_value_type)type;
}

static bool is_redacted(const struct atf_detail *detail, int argument)
{
	return argument && detail->event_type == ATF_DETAIL_CALL && detail->flags & ATF_DETAIL_REDACTED(argument);
}

bool ada_replay_value(const struct ada_trigger *trigger, struct ada_replay_event *event, enum ada_trigger_side side, uint64_t *untold)
{
	static const struct ada_rolls none;
	const struct ada_moment *moment = event->moment;
	bool begins = side == ADA_TRIGGER_BEGINS;
	struct ada_replay_process *process = event->track->process;
	enum ada_value_type type;

	if (moment->event->event_kind != (trigger->kind == ADA_RULE_RETURN ? ADA_EVENT_RETURN : ADA_EVENT_CALL))
		return false;
	if (ada_thread_detail(moment->thread, moment->position, &event->detail) ||
	    is_redacted(&event->detail, begins ? trigger->begin_argument : trigger->argument)) {
		++*untold;
		return false;
	}
	/* The operand is the agent's own, made fit for the type. */
	type = type_of(trigger, moment->thread->process, moment->event->function_id, begins ? trigger->begin_argument : trigger->argument,
		       begins ? &process->begin_types : &process->types);
	ada_trigger_rule(trigger, 1.0, &none, type, &event->typed);
	if (begins)
		ada_trigger_begin_rule(trigger, &event->typed, type, 0, &event->typed);
	event->rule = &event->typed;
	return true;
}

bool ada_replay_register(const struct ada_replay_event *event, uint64_t *raw)
{
	const struct atf_detail *detail = &event->detail;
	bool call = event->rule->kind != ADA_RULE_RETURN;

	if (!ada_rule_is_real(event->rule))
		*raw = detail->x[call ? event->rule->argument - 1 : 0];
	else
		*raw = call ? detail->vectors[0] : detail->x[RETURN_REAL];
	return !call || !ada_rule_is_real(event->rule) || detail->flags & ATF_DETAIL_VECTORS;
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

void ada_replay_show(const struct ada_rule *rule, uint64_t raw, struct ada_replay_hit *hit)
{
	if (ada_rule_is_real(rule)) {
		raw = rule->type == ADA_VALUE_F32 ? ada_real_widen((uint32_t)raw) : raw;
		hit->kind = ADA_REPLAY_REAL;
		memcpy(&hit->value.f, &raw, sizeof raw);
	} else if (rule->type <= ADA_VALUE_I8) {
		hit->kind = ADA_REPLAY_SIGNED;
		hit->value.i = as_signed(rule->type, raw);
	} else {
		hit->kind = ADA_REPLAY_NUMBER;
		hit->value.u = as_unsigned(rule->type, raw);
	}
}
