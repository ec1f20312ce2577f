/* A provider's tables (abi/policy.h): what is filled when, and how it comes into force. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "recorder/policy/policy_state.h"
#include "recorder/state/state.h"

#define ROOM_STEP 16384u /* functions, and an eighth of it in classes: few calls, little memory */

/* Readers may look at a table while it is filled: they see its generation change, because each word is released after it. */
#define PUT(at, value) __atomic_store_n(at, value, __ATOMIC_RELEASE)

static uint64_t start_of(int number)
{
	return (uint64_t)number * ADA_POLICY_TABLE_BYTES;
}

static struct ada_policy_table *table_of(const struct ada_policy_tables *tables, int number)
{
	return ada_segment_policy_table(&tables->provider->segment, number);
}

static uint64_t *masks_of(struct ada_policy_table *table)
{
	return (uint64_t *)((uint8_t *)table + ADA_POLICY_MASKS);
}
static uint16_t *classes_of(struct ada_policy_table *table)
{
	return (uint16_t *)((uint8_t *)table + ADA_POLICY_CLASSES);
}
static uint8_t *flags_of(struct ada_policy_table *table)
{
	return (uint8_t *)table + ADA_POLICY_FLAGS;
}

static uint8_t *capture_numbers_of(struct ada_policy_table *table)
{
	return (uint8_t *)table + ADA_POLICY_CAPTURE_NUMBERS;
}

static uint32_t step_up(uint32_t count, uint32_t step, uint32_t limit)
{
	uint32_t rounded = (count + step - 1) / step * step;

	return rounded < limit ? rounded : limit;
}

static int room_functions(struct ada_policy_tables *tables, int number, uint32_t functions)
{
	struct ada_segment *segment = &tables->provider->segment;
	uint32_t from = tables->functions_ready[number], to = step_up(functions + 1, ROOM_STEP, ADA_FUNCTIONS_MAX);
	int status;

	if (to <= from)
		return 0;
	status = ada_segment_policy_room(segment, start_of(number) + ADA_POLICY_CLASSES + 2ull * from, 2ull * (to - from)) ?:
			 ada_segment_policy_room(segment, start_of(number) + ADA_POLICY_FLAGS + from, to - from)	   ?:
			 ada_segment_policy_room(segment, start_of(number) + ADA_POLICY_CAPTURE_NUMBERS + from, to - from);
	if (!status)
		tables->functions_ready[number] = to;
	return status;
}

static int room_classes(struct ada_policy_tables *tables, int number, uint32_t classes)
{
	uint32_t from = tables->classes_ready[number], to = step_up(classes, ROOM_STEP / 32, ADA_CLASSES_MAX);
	uint64_t start;
	int status;

	if (to <= from)
		return 0;
	start = from ? ADA_POLICY_MASKS + 8ull * from : 0; /* with header and rules */
	status = ada_segment_policy_room(&tables->provider->segment, start_of(number) + start, ADA_POLICY_MASKS + 8ull * to - start);
	if (!status)
		tables->classes_ready[number] = to;
	return status;
}

int ada_policy_room(struct ada_policy_tables *tables, uint32_t functions)
{
	return room_functions(tables, 0, functions) ?: room_functions(tables, 1, functions);
}

/* What a rule remembers beside its state: *offset in the area, and how many bytes. */
static uint64_t memory_of(const struct ada_policy_rule *rule, uint64_t *offset)
{
	enum ada_rule_kind kind = (enum ada_rule_kind)rule->agent.kind;

	if (kind == ADA_RULE_SPAN) {
		*offset = ADA_POLICY_SPANS + (uint64_t)rule->slot * ADA_SPAN_BYTES;
		return ADA_SPAN_BYTES;
	}
	*offset = ADA_POLICY_SAMPLES + (uint64_t)rule->slot * ADA_SAMPLE_BYTES;
	return kind == ADA_RULE_PERCENTILE || kind == ADA_RULE_RATE || kind == ADA_RULE_NEW_CALLER ? ADA_SAMPLE_BYTES : 0;
}

static void state_zero(struct ada_rule_state *state)
{
	PUT(&state->above, 0u);
	for (uint64_t *word = &state->matches; word < (uint64_t *)(state + 1); word++)
		PUT(word, 0);
}

/* Makes the slot's state this rule's: what an earlier rule left there is added to that rule's counts, then zeroed. */
static int state_begin(struct ada_policy *policy, struct ada_policy_tables *tables, const struct ada_policy_rule *rule)
{
	struct ada_segment *segment = &tables->provider->segment;
	uint32_t slot = rule->slot;
	struct ada_rule_state *state = ada_policy_state(segment->policy, slot);
	uint64_t samples_at, bytes = memory_of(rule, &samples_at);
	int status;

	if (tables->incarnations[slot] == rule->incarnation)
		return 0;
	status = bytes ? ada_segment_policy_room(segment, samples_at, bytes) : 0;
	if (status)
		return status;
	pthread_mutex_lock(&policy->lock);
	for (size_t i = 0; i < policy->by_slot[slot].count; i++) {
		struct ada_policy_rule *before = policy->by_slot[slot].items[i];

		if (before->incarnation == tables->incarnations[slot]) {
			before->matches += __atomic_load_n(&state->matches, __ATOMIC_RELAXED);
			before->marks += __atomic_load_n(&state->marks, __ATOMIC_RELAXED);
			before->overlooked += __atomic_load_n(&state->overlooked, __ATOMIC_RELAXED);
		}
	}
	tables->incarnations[slot] = 0;
	pthread_mutex_unlock(&policy->lock);
	for (uint64_t i = 0; i < bytes / 8; i++)
		PUT((uint64_t *)(segment->policy + samples_at) + i, 0);
	state_zero(state);
	PUT(&state->incarnation, rule->incarnation);
	state_zero(state);				 /* again, for what an agent counted for the former rule before it saw the change */
	PUT(&state->since_counter, ada_clock_counter()); /* no table names the rule yet */
	pthread_mutex_lock(&policy->lock);
	tables->incarnations[slot] = rule->incarnation;
	pthread_mutex_unlock(&policy->lock);
	return 0;
}

/* What the module's plan says of its functions, what is captured of them, and which rules name them. */
static void masks_add(struct ada_policy *policy, const struct ada_policy_module *module)
{
	const struct ada_plan *plan = module->image->plans.items[0];
	const struct ada_plan_function *functions = ada_plan_functions(plan);

	for (uint32_t i = 0; module->base && i < ada_plan_header(plan)->function_count; i++)
		if (functions[i].flags & ADA_FUNCTION_OBJECTS)
			policy->objects.items[module->base + i] = (uint8_t)((functions[i].flags & ADA_FUNCTION_OBJECTS) /
									    ADA_POLICY_OF_PLAN);
	for (size_t i = 0; module->base && i < module->image->redacted.count; i++)
		if (module->image->redacted.items[i].arguments & (1u << 1 | 1u << 2)) /* what OBJECT events would say */
			policy->objects.items[module->base + module->image->redacted.items[i].function] = 0;
	for (size_t i = 0; module->base && i < module->image->captured.count; i++) {
		const struct ada_policy_captured *captured = &module->image->captured.items[i];

		policy->objects.items[module->base + captured->function] |= ADA_POLICY_CAPTURE |
									    (ada_capture_has_errno(&policy->sets[captured->set]) ?
										     ADA_POLICY_RETURN :
										     0);
		policy->captured.items[module->base + captured->function] = captured->set;
	}
	for (size_t i = 0; module->base && i < module->image->matches.count; i++) {
		const struct ada_policy_match *match = &module->image->matches.items[i];

		for (size_t j = 0; j < match->functions.count; j++) {
			uint64_t *mask = &policy->masks.items[module->base + ADA_POLICY_NUMBER(match->functions.items[j])];

			if (match->functions.items[j] & ADA_POLICY_ENDS)
				*mask |= 1ull << match->rule->slot;
			if (match->functions.items[j] & ADA_POLICY_BEGINS)
				*mask |= 1ull << match->rule->begin_slot;
		}
	}
}

/* Scratch for numbers up to `to`, of which those from `from` on hold nothing. */
static int masks_begin(struct ada_policy *policy, uint32_t from, uint32_t to)
{
	policy->masks.count = policy->objects.count = policy->captured.count = 0;
	if (ada_array_reserve(&policy->masks, to + 1) || ada_array_reserve(&policy->objects, to + 1) ||
	    ada_array_reserve(&policy->captured, to + 1))
		return -ENOMEM;
	policy->masks.count = policy->objects.count = policy->captured.count = to + 1;
	memset(policy->masks.items + from, 0, (to - from + 1) * sizeof *policy->masks.items);
	memset(policy->objects.items + from, 0, (to - from + 1) * sizeof *policy->objects.items);
	memset(policy->captured.items + from, 0, (to - from + 1) * sizeof *policy->captured.items);
	return 0;
}

/* Classes of the masks of [from, to], into `classes`; -E2BIG: there are too many. */
static int classes_add(const struct ada_policy *policy, uint32_t from, uint32_t to, struct ada_table *classes, uint32_t *count)
{
	uint64_t last = 0, class;

	for (uint32_t number = from; number <= to; number++) {
		uint64_t mask = policy->masks.items[number];

		if (!mask || mask == last || ada_table_get(classes, mask, &class))
			continue;
		if (*count == ADA_CLASSES_MAX)
			return -E2BIG;
		if (ada_table_put(classes, mask, *count))
			return -ENOMEM;
		++*count;
		last = mask;
	}
	return 0;
}

/* Masks of the classes from `first` on, then classes and flags of the numbers [from, to]. */
static void write_functions(const struct ada_policy *policy, struct ada_policy_table *table, const struct ada_table *classes,
			    uint32_t first, uint32_t from, uint32_t to)
{
	uint64_t last = 0, class = 0;
	uint8_t flags = 0;

	for (uint32_t number = 1; number <= policy->set_count; number++) /* the ones before are the same as ever */
		for (size_t i = 0; i < sizeof policy->sets[0].items / sizeof policy->sets[0].items[0]; i++)
			PUT((uint32_t *)((uint8_t *)table + ADA_POLICY_CAPTURES) + number * 4 + i,
			    ((const uint32_t *)&policy->sets[number])[i]);
	for (uint32_t number = from; number <= to; number++) {
		uint64_t mask = policy->masks.items[number];

		if (mask != last) {
			class = 0;
			flags = 0;
			if (mask)
				ada_table_get(classes, mask, &class);
			for (uint64_t rest = mask; rest; rest &= rest - 1) {
				int of_slot;

				ada_policy_slot_form(policy, (uint32_t)__builtin_ctzll(rest), &of_slot);
				flags |= (uint8_t)of_slot;
			}
			if (class >= first && mask)
				PUT(&masks_of(table)[class], mask);
			last = mask;
		}
		PUT(&classes_of(table)[number], (uint16_t) class);
		PUT(&capture_numbers_of(table)[number], policy->captured.items[number]);
		PUT(&flags_of(table)[number], (uint8_t)(flags | policy->objects.items[number]));
	}
}

static void write_rules(const struct ada_policy *policy, struct ada_policy_table *table)
{
	static const struct ada_rule none;
	struct ada_policy_table head = { .depth_limit = UINT64_MAX };

	for (uint32_t slot = 0; slot < ADA_RULES_MAX; slot++) {
		int flags;
		const struct ada_rule *rule = ada_policy_slot_form(policy, slot, &flags);
		const uint64_t *from = (const uint64_t *)(rule ? rule : &none);
		uint64_t *to = (uint64_t *)&table->rules[slot], bit = 1ull << slot;

		for (size_t i = 0; i < sizeof none / 8; i++)
			PUT(&to[i], from[i]);
		if (!rule)
			continue;
		if (rule->kind == ADA_RULE_DEPTH && (rule->flags & ADA_RULE_GLOBAL)) {
			head.global_calls |= bit;
			if (rule->operand.u < head.depth_limit)
				head.depth_limit = rule->operand.u;
		}
		if (rule->kind == ADA_RULE_CRASH)
			head.crash_rules |= bit;
		if (rule->kind == ADA_RULE_SIGNAL) {
			head.signal_rules |= bit;
			head.signals |= rule->signals;
		}
	}
	PUT(&table->version, policy->version);
	PUT(&table->global_calls, head.global_calls);
	PUT(&table->depth_limit, head.depth_limit);
	PUT(&table->crash_rules, head.crash_rules);
	PUT(&table->signal_rules, head.signal_rules);
	PUT(&table->signals, head.signals);
}

static void swap_in(struct ada_policy_tables *tables, int number)
{
	struct ada_shm *shm = tables->provider->segment.shm;
	uint8_t *flags = flags_of(table_of(tables, number));

	tables->current = number;
	PUT(&shm->policy_flags, (uint64_t)(flags - (uint8_t *)&shm->policy_flags));
}

static int states_begin(struct ada_policy *policy, struct ada_policy_tables *tables)
{
	int status = 0;

	for (uint32_t slot = 0; slot < ADA_RULES_MAX && !status; slot++) {
		const struct ada_policy_rule *rule = ada_policy_in_slot(policy, slot);

		status = rule ? state_begin(policy, tables, rule) : 0;
	}
	return status;
}

static void note_cost(struct ada_policy *policy, uint64_t start_ns)
{
	uint64_t took = ada_clock_boottime_ns() - start_ns;

	pthread_mutex_lock(&policy->lock);
	policy->cost.compiles++;
	policy->cost.last_ns = took;
	policy->cost.total_ns += took;
	pthread_mutex_unlock(&policy->lock);
}

int ada_policy_compile(struct ada_policy *policy, struct ada_policy_tables *tables)
{
	int number = !tables->current;
	struct ada_policy_table *table = table_of(tables, number);
	struct ada_table classes = { 0 };
	uint32_t class_count = 1;
	uint64_t start_ns = ada_clock_boottime_ns();
	int status = masks_begin(policy, 0, tables->functions);

	if (status)
		return status;
	for (size_t i = 0; i < tables->modules.count; i++)
		masks_add(policy, &tables->modules.items[i]);
	ada_policy_mutes_add(tables, policy->objects.items, tables->functions);
	status = classes_add(policy, 1, tables->functions, &classes, &class_count) ?:
			 room_functions(tables, number, tables->functions)	   ?:
			 room_classes(tables, number, class_count)		   ?:
										     states_begin(policy, tables);
	if (status) {
		ada_table_free(&classes);
		return status;
	}
	PUT(&table->generation, tables->generation[number] + 1);
	write_rules(policy, table);
	write_functions(policy, table, &classes, 1, 1, tables->functions);
	PUT(&table->functions, tables->functions);
	PUT(&table->generation, tables->generation[number] += 2);
	swap_in(tables, number);
	ada_table_free(&tables->classes);
	tables->classes = classes;
	tables->class_count = class_count;
	tables->stale = false;
	note_cost(policy, start_ns);
	return 0;
}

/* In place: no hook knows these numbers yet, and a new class is no one else's. */
int ada_policy_extend(struct ada_policy *policy, struct ada_policy_tables *tables, const struct ada_policy_module *module,
		      bool rules_changed)
{
	struct ada_policy_table *table = table_of(tables, tables->current);
	uint32_t from = module->base, to = tables->functions, before = tables->class_count;
	uint64_t start_ns;
	int status;

	if (rules_changed || tables->stale)
		return ada_policy_compile(policy, tables);
	start_ns = ada_clock_boottime_ns();
	status = masks_begin(policy, from, to);
	if (status)
		return status;
	masks_add(policy, module);
	status = classes_add(policy, from, to, &tables->classes, &tables->class_count) ?:
			 room_classes(tables, tables->current, tables->class_count);
	if (status) {
		tables->stale = true; /* classes without masks */
		return status;
	}
	write_functions(policy, table, &tables->classes, before, from, to);
	PUT(&table->functions, to);
	note_cost(policy, start_ns);
	return 0;
}
