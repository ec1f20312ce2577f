#include "recorder/policy/sample.h"
#include <math.h>
#include <stdlib.h>
#include <time.h>
#include "recorder/host/usage.h"
#include "recorder/policy/fire.h"
#include "recorder/state/provider.h"

#define INTERVAL_NS 200000000ull
#define KINDS (1ull << ADA_RULE_CPU_SHARE | 1ull << ADA_RULE_MEMORY_SHARE | 1ull << ADA_RULE_MEMORY_BYTES | 1ull << ADA_RULE_TIME)
#define CPU_SLACK 0.1 /* a value must come back so far: no flutter around a bound */
#define MEMORY_SLACK 0.02

struct watch {	       /* a rule in one process */
	uint32_t rule; /* id; 0: none */
	bool above;
};

struct process {			     /* by number of the provider */
	uint64_t cpu_ns, at_ns;		     /* at the sample before, and when it was begun; at_ns 0: there was none */
	struct watch watches[ADA_RULES_MAX]; /* by slot */
};

struct ada_sampler {
	struct ada_recorder *recorder;
	uint64_t sampled_ns;
	uint32_t version; /* of `firing` */
	struct ada_firing firing;
	ADA_ARRAY(struct process *) processes;
};

struct usage { /* of one process now; an unknown value is NaN, which nothing is above or below */
	double cpu_share, memory_share, resident_bytes;
};

struct ada_sampler *ada_sampler_open(struct ada_recorder *recorder)
{
	struct ada_sampler *sampler = calloc(1, sizeof *sampler);

	if (sampler)
		sampler->recorder = recorder;
	return sampler;
}

void ada_sampler_close(struct ada_sampler *sampler)
{
	if (!sampler)
		return;
	for (size_t i = 0; i < sampler->processes.count; i++)
		free(sampler->processes.items[i]);
	ada_array_free(&sampler->processes);
	free(sampler);
}

static bool any_of(const struct ada_sampler *sampler, enum ada_rule_kind kind)
{
	for (size_t i = 0; i < sampler->firing.count; i++)
		if (sampler->firing.rules[i].rule.kind == kind)
			return true;
	return false;
}

static struct usage measure(const struct ada_sampler *sampler, struct process *process, pid_t pid)
{
	struct usage usage = { NAN, NAN, NAN };
	uint64_t cpu_ns, bytes, begun_ns = ada_clock_boottime_ns();

	if (any_of(sampler, ADA_RULE_CPU_SHARE) && ada_clock_process_ns(pid, &cpu_ns)) {
		/* By the time around both looks, however long each took: so the share is never more than the truth. */
		uint64_t now_ns = ada_clock_boottime_ns();

		if (process->at_ns && now_ns > process->at_ns && cpu_ns >= process->cpu_ns)
			usage.cpu_share = (double)(cpu_ns - process->cpu_ns) / (double)(now_ns - process->at_ns);
		process->cpu_ns = cpu_ns;
		process->at_ns = begun_ns;
	}
	if (any_of(sampler, ADA_RULE_MEMORY_SHARE) && !ada_usage_memory_share("", pid, &usage.memory_share))
		usage.memory_share = NAN;
	if (any_of(sampler, ADA_RULE_MEMORY_BYTES) && ada_usage_resident_bytes(pid, &bytes))
		usage.resident_bytes = (double)bytes;
	return usage;
}

/* What is compared, the bound, and by what part of the bound it must come back before it counts as on the other side again. */
static double value_of(const struct ada_rule_info *info, const struct usage *usage, double *bound, double *slack)
{
	*bound = info->rule.operand.f;
	*slack = MEMORY_SLACK;
	switch (info->rule.kind) {
	case ADA_RULE_CPU_SHARE: *slack = CPU_SLACK; return usage->cpu_share;
	case ADA_RULE_MEMORY_SHARE: return usage->memory_share;
	default: *bound = (double)info->rule.operand.i; return usage->resident_bytes;
	}
}

static double ticks_per_ns(const struct ada_recorder *recorder)
{
	const struct ada_clock_anchor *anchors;
	size_t count = ada_clock_anchors(recorder->clock, &anchors);

	return 1 / anchors[count - 1].ns_per_tick;
}

static bool exceeds(enum ada_rule_op op, double value, double bound, double slack)
{
	switch (op) {
	case ADA_OP_LT: return value < bound * (1 + slack);
	case ADA_OP_LE: return value <= bound * (1 + slack);
	case ADA_OP_GE: return value >= bound * (1 - slack);
	default: return value > bound * (1 - slack);
	}
}

static void look(struct ada_sampler *sampler, struct ada_provider *provider, struct watch *watch, const struct ada_rule_info *info,
		 const struct usage *usage)
{
	uint64_t left_ns = 0, counter = ada_clock_counter();
	double bound, slack, value = value_of(info, usage, &bound, &slack);
	bool above;

	if (watch->rule != info->id)
		*watch = (struct watch){ .rule = info->id };
	if (info->rule.kind == ADA_RULE_TIME) {
		struct timespec wall;

		clock_gettime(CLOCK_REALTIME, &wall);
		left_ns = ada_trigger_left_ns(info->trigger, (uint64_t)wall.tv_sec * 1000000000ull + (uint64_t)wall.tv_nsec);
		above = left_ns != 0;
		value = 0;
	} else {
		above = exceeds(info->rule.op, value, bound, watch->above ? slack : 0);
		if (info->rule.kind != ADA_RULE_MEMORY_BYTES)
			value *= 10000; /* as a whole number: hundredths of a percent */
	}
	/* The window of a time of day reaches to the interval's end, and from there on as far as the rule's post-roll. */
	if (above && !watch->above &&
	    ada_fire(provider, &sampler->firing, info, counter, (uint64_t)value,
		     left_ns ? (uint64_t)((double)left_ns * ticks_per_ns(sampler->recorder)) + info->rule.post_ticks : 0) < 0)
		above = false; /* the process isn't ready for the rule: again at the next look */
	watch->above = above;
}

static struct process *process_of(struct ada_sampler *sampler, uint32_t number)
{
	while (sampler->processes.count <= number)
		if (ada_array_push(&sampler->processes, NULL))
			return NULL;
	if (!sampler->processes.items[number])
		sampler->processes.items[number] = calloc(1, sizeof(struct process));
	return sampler->processes.items[number];
}

void ada_sampler_turn(struct ada_sampler *sampler, uint64_t now_ns)
{
	struct ada_recorder *recorder = sampler->recorder;
	struct ada_provider *provider;

	if (now_ns - sampler->sampled_ns < INTERVAL_NS)
		return;
	sampler->sampled_ns = now_ns;
	if (ada_policy_version(recorder->policy) != sampler->version) {
		ada_firing_take(&sampler->firing, recorder->policy, KINDS);
		sampler->version = sampler->firing.version;
	}
	if (!sampler->firing.count)
		return;
	for (size_t i = 0; (provider = ada_provider_at(recorder, i)); i++) {
		struct process *process = __atomic_load_n(&provider->gone_ns, __ATOMIC_ACQUIRE) ? NULL :
												  process_of(sampler, provider->number);
		struct usage usage;

		if (!process)
			continue;
		usage = measure(sampler, process, provider->pid);
		for (size_t k = 0; k < sampler->firing.count; k++)
			look(sampler, provider, &process->watches[sampler->firing.rules[k].slot], &sampler->firing.rules[k], &usage);
	}
}
