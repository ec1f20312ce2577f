/* Deciding about an event: judge.h. */
#include "agent/ground/sys.h"
#include "agent/judge/parts.h"

#define FITS 4	   /* rules of one event that are copied at once; further ones go one by one */
#define TRIES 1000 /* each failed try means that the policy was swapped twice meanwhile */
#define SAMPLED 63 /* one decision in 64 is timed */

struct job {
	const struct ada_judged *event;
	struct ada_cpu_time cpu;
	int signal; /* 0: an event */
	bool fatal;
	struct work *work;
};

/* What fits the event. */
struct decision {
	uint64_t generation;
	uint32_t version, count;
	uint64_t more; /* slots that fit beyond those copied */
	struct ada_fit fits[FITS];
};

/* What takes much memory in a judgement: lies in the thread's room, else on the stack, which is the program's. */
struct work {
	struct decision decision;
	struct ada_fit fit; /* one that was not copied */
	struct ada_mark mark;
	struct ada_type_names names;
};
static_assert(sizeof(struct work) <= ADA_JUDGE_ROOM, "room");

static const struct ada_policy_table *table_in_force(const struct ada_shm *shm)
{
	uint64_t flags = __atomic_load_n(&shm->policy_flags, __ATOMIC_ACQUIRE);

	return (const void *)((const char *)&shm->policy_flags + flags - ADA_POLICY_FLAGS);
}

static uint64_t rules_of(const struct ada_policy_table *table, const struct job *job)
{
	const struct ada_judged *event = job->event;
	const uint16_t *classes = (const void *)((const char *)table + ADA_POLICY_CLASSES);
	const uint64_t *masks = (const void *)((const char *)table + ADA_POLICY_MASKS);
	uint64_t rules = 0;

	if (job->signal)
		return table->signal_rules | (job->fatal ? table->crash_rules : 0);
	if (event->number && event->number <= table->functions && event->number < ADA_FUNCTIONS_MAX)
		rules = masks[classes[event->number]];
	if (event->kind == ADA_EVENT_CALL && event->depth > table->depth_limit)
		rules |= table->global_calls;
	return rules;
}

static bool argument_of(const struct ada_registers *registers, uint32_t number, uint64_t *value)
{
	switch (number) {
	case 1: *value = registers->rdi; return true;
	case 2: *value = registers->rsi; return true;
	case 3: *value = registers->rdx; return true;
	case 4: *value = registers->rcx; return true;
	case 5: *value = registers->r8; return true;
	case 6: *value = registers->r9; return true;
	}
	return false;
}

static inline __attribute__((always_inline)) bool register_of(const struct ada_judged *event, const struct ada_rule *rule, uint64_t *value)
{
	if (!event->registers)
		return false;
	if (rule->kind != ADA_RULE_RETURN && !ada_rule_is_real(rule))
		return argument_of(event->registers, rule->argument, value);
	*value = ada_rule_is_real(rule) ? event->xmm0 : event->registers->rax;
	return true;
}

/* A call is no match, but begins one. */
static bool cpu_time_of(struct job *job, uint64_t *value)
{
	const struct ada_judged *event = job->event;

	if (event->kind == ADA_EVENT_CALL) {
		ada_cpu_begin(event->slot, event->number);
		return false;
	}
	if (!job->cpu.asked)
		job->cpu.known = ada_cpu_end(event->slot, event->number, &job->cpu.ns);
	job->cpu.asked = true;
	*value = job->cpu.ns;
	return job->cpu.known;
}

/* Answers what rules can't be told in advance: ada_rule_ask. */
static inline __attribute__((always_inline)) bool event_ask(void *context, const struct ada_rule *rule, uint64_t *value)
{
	struct job *job = context;

	switch (rule->kind) {
	case ADA_RULE_ARG:
	case ADA_RULE_SPAN:
	case ADA_RULE_SPAN_BEGIN:
	case ADA_RULE_RETURN: return register_of(job->event, rule, value);
	case ADA_RULE_CPU: return cpu_time_of(job, value);
	default: return ada_type_matches(job->event, rule->name, sizeof rule->name, &job->work->names);
	}
}

/* What rules look at, as the compiler needs it. */
static inline __attribute__((always_inline)) struct ada_rule_event seen_of(const struct ada_judged *event)
{
	return (struct ada_rule_event){ .counter = event->counter,
					.duration = event->counter - event->start_counter,
					.caller = event->return_address,
					.kind = event->kind,
					.depth = event->depth,
					.timed = event->start_counter && event->counter >= event->start_counter };
}

static inline __attribute__((always_inline)) bool counts_descents(const struct ada_rule *rule)
{
	return rule->kind == ADA_RULE_DEPTH && !(rule->flags & ADA_RULE_GLOBAL);
}

static bool rule_fits(const struct ada_rule *rule, uint32_t slot, struct job *job, uint64_t *value)
{
	struct ada_rule_event seen = seen_of(job->event);

	if (counts_descents(rule))
		seen.descent = ada_descent_of(slot, rule->incarnation, job->event->thread);
	*value = job->signal;
	if (!(rule->flags & ADA_RULE_ENABLED))
		return false;
	if (job->signal)
		return rule->kind == ADA_RULE_SIGNAL ? rule->signals >> (job->signal - 1) & 1 : rule->kind == ADA_RULE_CRASH;
	return ada_rule_fits(rule, &seen, event_ask, job, value);
}

static bool is_unchanged(const struct ada_policy_table *table, uint64_t generation)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE); /* after all that was read of it */
	return __atomic_load_n(&table->generation, __ATOMIC_RELAXED) == generation;
}

/* Decides what the table says of the event, without changing anything. False: the policy changed meanwhile. */
static bool decide(struct decision *decision, const struct ada_policy_table *table, struct job *job)
{
	uint64_t generation = __atomic_load_n(&table->generation, __ATOMIC_ACQUIRE);

	decision->generation = generation;
	decision->version = table->version;
	decision->count = 0;
	decision->more = 0;
	if (generation & 1)
		return false;
	for (uint64_t rules = rules_of(table, job); rules; rules &= rules - 1) {
		struct ada_fit *fit = &decision->fits[decision->count];
		uint32_t slot = __builtin_ctzll(rules);
		uint64_t value;

		if (!rule_fits(&table->rules[slot], slot, job, &value))
			continue;
		if (decision->count == FITS) {
			decision->more |= 1ull << slot;
			continue;
		}
		fit->slot = slot;
		fit->value = value;
		memcpy(fit->rule, &table->rules[slot], sizeof fit->rule);
		decision->count++;
	}
	return is_unchanged(table, generation);
}

/* As much of a rule of spans as goes before its mark: fit->value, the key, becomes the time. */
static bool span_apply(void *area, struct ada_fit *fit, struct job *job, const struct ada_rule_event *seen, struct ada_begun *span)
{
	const struct ada_rule *rule = ada_fit_rule(fit);
	uint32_t slot = rule->kind == ADA_RULE_SPAN_BEGIN ? rule->span : fit->slot;

	if (slot >= ADA_RULES_MAX ||
	    !ada_rule_spans(ada_policy_state(area, slot), ada_policy_spans(area, slot), rule, seen, fit->value, job->event->thread, span))
		return false;
	fit->value = seen->counter - span->counter;
	return true;
}

static void rule_apply(struct ada_shm *shm, struct ada_fit *fit, struct job *job)
{
	struct ada_mark *mark = &job->work->mark;
	struct ada_rule_event seen = seen_of(job->event);
	const struct ada_rule *rule = ada_fit_rule(fit);
	bool spans = rule->kind == ADA_RULE_SPAN || rule->kind == ADA_RULE_SPAN_BEGIN;
	void *area = (char *)shm + shm->policy_offset;
	struct ada_begun span = { 0 };

	if (spans && !span_apply(area, fit, job, &seen, &span))
		return;
	if (counts_descents(rule))
		seen.descent = ada_descent_of(fit->slot, rule->incarnation, job->event->thread);
	if (!ada_rule_marks(ada_policy_state(area, fit->slot), ada_policy_samples(area, fit->slot), rule, &seen))
		return;
	if (!mark->rules)
		mark->value = fit->value;
	if (spans && !mark->begin_counter) {
		mark->key = span.key;
		mark->begin_counter = span.counter;
		mark->begin_thread = span.thread;
	}
	ada_mark_add(mark, fit->slot, rule);
}

/* Applies the rules beyond the first few. A rule that is gone from the table by now, two swaps later, has nothing to say any more. */
static void rest_apply(struct ada_shm *shm, const struct ada_policy_table *table, struct job *job)
{
	const struct decision *decision = &job->work->decision;
	struct ada_fit *fit = &job->work->fit;

	for (uint64_t rules = decision->more; rules; rules &= rules - 1) {
		const struct ada_rule *rule = &table->rules[__builtin_ctzll(rules)];

		fit->slot = __builtin_ctzll(rules);
		if (!rule_fits(rule, fit->slot, job, &fit->value))
			continue;
		memcpy(fit->rule, rule, sizeof fit->rule);
		if (is_unchanged(table, decision->generation))
			rule_apply(shm, fit, job);
	}
}

/* Stands apart from the decision, which mostly is that nothing fits. */
static __attribute__((noinline)) void apply(struct ada_shm *shm, const struct ada_policy_table *table, struct job *job)
{
	struct decision *decision = &job->work->decision;
	const struct ada_judged *event = job->event;
	struct ada_mark *mark = &job->work->mark;

	memset(mark, 0, sizeof *mark);
	for (uint32_t i = 0; i < decision->count; i++)
		rule_apply(shm, &decision->fits[i], job);
	rest_apply(shm, table, job);
	if (!mark->rules)
		return;
	mark->counter = event->counter;
	mark->version = decision->version;
	mark->thread = event->thread;
	mark->seq = event->seq;
	mark->function_id = event->function_id;
	ada_mark_enter(shm, mark);
}

static void judge_in(struct ada_shm *shm, struct job *job, struct work *work)
{
	const struct ada_policy_table *table;
	uint32_t tries = 0;

	job->work = work;
	do
		table = table_in_force(shm);
	while (!decide(&work->decision, table, job) && ++tries < TRIES);
	if (tries < TRIES && work->decision.count)
		apply(shm, table, job);
}

static __attribute__((noinline)) void judge_on_stack(struct ada_shm *shm, struct job *job)
{
	struct work work;

	judge_in(shm, job, &work);
}

static void rules_judge(struct ada_shm *shm, struct job *job)
{
	struct work *work = ada_judge_room();

	if (work) {
		judge_in(shm, job, work);
		ada_judge_room_return(work);
	} else {
		judge_on_stack(shm, job);
	}
}

void ada_judge(const struct ada_judged *event)
{
	struct job job = { .event = event };
	struct ada_shm *shm = ada_core_shm();
	bool timed = !(event->seq & SAMPLED);
	uint64_t start = timed ? ada_sys_counter() : 0;

	if (!shm || !shm->policy_offset || shm->disabled == ADA_DISABLE_CONFINED) /* then no system call is safe, either */
		return;
	rules_judge(shm, &job);
	if (timed)
		__atomic_fetch_add(&shm->marks.evaluated_ticks, ada_sys_counter() - start, __ATOMIC_RELAXED);
}

void ada_judge_signal(int number, bool fatal, uint64_t counter, uint32_t thread, uint64_t seq)
{
	const struct ada_judged event = { .counter = counter, .seq = seq, .thread = thread };
	struct job job = { .event = &event, .signal = number, .fatal = fatal };
	struct ada_shm *shm = ada_core_shm();

	if (shm && shm->policy_offset)
		rules_judge(shm, &job);
}

uint64_t ada_judge_signals(void)
{
	const struct ada_shm *shm = ada_core_shm();

	return shm && shm->policy_offset ? __atomic_load_n(&table_in_force(shm)->signals, __ATOMIC_RELAXED) : 0;
}
