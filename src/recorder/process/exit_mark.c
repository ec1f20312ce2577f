#include "recorder/process/exit.h"
#include <stdlib.h>
#include "abi/rules.h"
#include "recorder/policy/fire.h"

#define CLOCK_SLACK_NS 2000ull
#define TOLD_NS 1000000000ull /* a rule that marked so shortly before the end did so for the signal that was the end */

/* Counter of the last event, which mostly lies in a chunk that a thread was filling. 0: there is none. */
static uint64_t last_counter(const struct ada_segment *segment)
{
	uint64_t last = 0;

	for (uint32_t number = 0; number < ada_segment_chunk_end(segment); number = ada_segment_chunk_after(segment, number)) {
		const struct ada_chunk *chunk;
		uint64_t counter;
		uint32_t end;

		if (ada_segment_chunk_is_free(segment, number) || !ada_segment_chunk_is_there(segment, number) ||
		    !ada_segment_chunk_reach(segment, number))
			continue;
		chunk = ada_segment_chunk(segment, number);
		end = ada_chunk_end(chunk);
		if (end <= ada_segment_chunk_begin(segment, number) || end > ADA_CHUNK_BYTES || end % sizeof(struct ada_event))
			continue;
		counter = ((const struct ada_event *)((const uint8_t *)chunk + end))[-1].timestamp_ns;
		if (counter > last)
			last = counter;
	}
	return last;
}

/* When the end was seen, or a little before: the mark must lie within the process's time, whatever the conversion rounds. */
static uint64_t end_counter(const struct ada_provider *provider)
{
	const struct ada_clock_anchor *anchors;
	size_t count = ada_clock_anchors(provider->recorder->clock, &anchors);
	uint64_t counter = ada_clock_counter(), ago_ns = ada_clock_boottime_ns() + CLOCK_SLACK_NS - provider->end_ns;

	return count ? counter - (uint64_t)((double)ago_ns / anchors[count - 1].ns_per_tick) : counter;
}

static uint64_t marked_at(const struct ada_provider *provider, const struct ada_rule_info *info)
{
	const struct ada_rule_state *state = ada_policy_state(provider->segment.policy, info->slot);

	return __atomic_load_n(&state->last_counter, __ATOMIC_RELAXED);
}

static bool told_by_agent(const struct ada_provider *provider, const struct ada_rule_info *info, uint64_t now)
{
	struct ada_clock *clock = provider->recorder->clock;
	uint64_t marked = marked_at(provider, info);

	return marked && marked <= now && ada_clock_ns(clock, now) - ada_clock_ns(clock, marked) < TOLD_NS;
}

static bool rule_fits(const struct ada_provider *provider, const struct ada_rule_info *info, uint64_t now)
{
	const struct ada_exit_info *exit = &provider->exit;
	bool killed = exit->kind == ADA_EXIT_SIGNAL;

	switch (info->rule.kind) {
	case ADA_RULE_EXIT: return killed || (exit->kind == ADA_EXIT_EXITED && exit->value) || !provider->header.exit_seen;
	case ADA_RULE_SIGNAL:
		return killed && ada_signals_have(info->rule.signals, (uint64_t)exit->value) && !told_by_agent(provider, info, now);
	case ADA_RULE_CRASH:
		return killed && ada_signals_have(ADA_CRASH_SIGNALS, (uint64_t)exit->value) && !told_by_agent(provider, info, now);
	}
	return false;
}

/* What the rule compared: which signal, or the status. */
static uint64_t value_of(const struct ada_exit_info *exit, const struct ada_rule_info *info)
{
	return info->rule.kind == ADA_RULE_EXIT ? (uint64_t)ada_exit_shell_status(exit) : (uint64_t)exit->value;
}

void ada_exit_mark(struct ada_provider *provider)
{
	const struct ada_exit_info *exit = &provider->exit;
	struct ada_firing *firing;
	uint64_t now, counter;

	if (!provider->details || !provider->recorder->policy || exit->kind == ADA_EXIT_RUNNING || exit->kind == ADA_EXIT_EXEC)
		return;
	firing = malloc(sizeof *firing);
	if (!firing)
		return;
	now = end_counter(provider);
	counter = last_counter(&provider->segment);
	ada_firing_take(firing, provider->recorder->policy, 1ull << ADA_RULE_EXIT | 1ull << ADA_RULE_SIGNAL | 1ull << ADA_RULE_CRASH);
	/* Behind the agent's own marks of the same end. */
	for (size_t i = 0; i < firing->count; i++)
		if (told_by_agent(provider, &firing->rules[i], now) && marked_at(provider, &firing->rules[i]) >= counter)
			counter = marked_at(provider, &firing->rules[i]) + 1;
	if (!counter || counter > now)
		counter = now;
	for (size_t i = 0; i < firing->count; i++)
		if (rule_fits(provider, &firing->rules[i], now))
			ada_fire(provider, firing, &firing->rules[i], counter, value_of(exit, &firing->rules[i]), 0);
	free(firing);
}
