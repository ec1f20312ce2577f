/* From verdicts to hooks. */
#include <errno.h>
#include <stdlib.h>
#include "recorder/budget/lines.h"
#include "recorder/host/say.h"
#include "recorder/policy/policy.h"
#include "recorder/state/provider.h"

#define FLIPS_MAX 1000u	    /* functions a stop, ... */
#define WORDS_MAX 40000u    /* ... and words */
#define WAIT_NS 30000000ull /* for a CPU, where a process has but one thread */
#define FAILED_NS 50000000ull
#define FAILURES_MAX 5u /* doublings of that */

struct batch {
	struct ada_flip flips[FLIPS_MAX];
	size_t positions[FLIPS_MAX];
	size_t count, words;
};

static void choose_flips(struct ada_budget *budget, struct batch *batch, enum ada_verdict verdict)
{
	for (size_t i = 0; i < budget->functions.count && batch->count < FLIPS_MAX; i++) {
		const struct ada_budget_line *line = &budget->lines.items[i];

		if (budget->functions.items[i].verdict != verdict)
			continue;
		if (verdict == ADA_VERDICT_LEAVE ? !ada_budget_find(budget, i) : !line->found)
			continue;
		if (batch->words && batch->words + line->words.items.count > WORDS_MAX)
			continue;
		batch->words += line->words.items.count;
		batch->positions[batch->count] = i;
		batch->flips[batch->count++] = (struct ada_flip){ .out = verdict == ADA_VERDICT_LEAVE };
	}
	for (size_t i = 0; i < batch->count; i++) /* lines don't move any more */
		batch->flips[i].words = &budget->lines.items[batch->positions[i]].words;
}

static void add(uint64_t *word, uint64_t more)
{
	__atomic_store_n(word, *word + more, __ATOMIC_RELAXED);
}

static void note_one(struct ada_budget *budget, const struct ada_flips *flips, const struct ada_flip *flip, size_t position,
		     double calls_per_event)
{
	struct ada_budget_function *function = &budget->functions.items[position];
	struct ada_budget_line *line = &budget->lines.items[position];

	if (!flip->status && flip->out) {
		line->loads = budget->provider->segment.modules[ADA_FUNCTION_MODULE(line->function_id)].loads;
		line->expected = false;
		ada_decide_left(function, flips->to_ns);
		add(&budget->provider->stops.left, 1);
		ada_budget_mute(budget, position, flips->from_ns, (double)function->events * calls_per_event);
	} else if (!flip->status) {
		ada_budget_unmute(budget, position, flips->to_ns);
		add(&budget->provider->stops.returned, 1);
	} else if (flip->status != -EAGAIN && flip->status != -EBUSY) {
		/* Someone else has changed the bytes: a debugger, the program itself, the loader. */
		line->found = false;
		if (flip->out) {
			line->fixed = ADA_FIXED_UNKNOWN;
			function->fixed = true;
		} else {
			function->fixed = false;
		}
	}
}

static void note_stop(const struct ada_budget *budget, const struct ada_flips *flips)
{
	struct ada_stops *stops = &budget->provider->stops;

	if (!flips->still_ns)
		return;
	add(&stops->count, 1);
	add(&stops->total_ns, flips->still_ns);
	if (flips->still_ns > stops->longest_ns)
		__atomic_store_n(&stops->longest_ns, flips->still_ns, __ATOMIC_RELAXED);
}

static void note_failure(struct ada_budget *budget, int status, const struct ada_error *error, uint64_t now_ns)
{
	budget->next_ns = now_ns + (FAILED_NS << budget->failures);
	budget->failures += budget->failures < FAILURES_MAX;
	/* A process that is just executing something, or ending, refuses for a moment; one that has a tracer, for as long as that. */
	if ((status != -EPERM && status != -EACCES) || budget->failures < FAILURES_MAX)
		return;
	budget->given_up = true;
	if (!ada_provider_gone(budget->provider))
		ada_say("ada: process %d: none of its hooks can be taken out: %s\n", budget->provider->pid, error->text);
}

void ada_budget_change(struct ada_budget *budget, uint64_t limit_ns, double calls_per_event)
{
	struct batch *batch = calloc(1, sizeof *batch);
	struct ada_flips flips = { .pid = budget->provider->pid,
				   .memory = budget->text.memory,
				   .limit_ns = limit_ns,
				   .wait_ns = limit_ns > WAIT_NS ? limit_ns : WAIT_NS,
				   .pace = &budget->pace };
	struct ada_policy *policy = budget->provider->recorder->policy;
	struct ada_error error = { "" };
	int status;

	if (!batch)
		return;
	ada_text_forget(&budget->text);
	choose_flips(budget, batch, ADA_VERDICT_RETURN);
	choose_flips(budget, batch, ADA_VERDICT_LEAVE);
	if (batch->count && ada_policy_late_hold(policy)) {
		flips.items = batch->flips;
		flips.count = batch->count;
		status = ada_flips_run(&flips, &error);
		ada_policy_late_release(policy);
		note_stop(budget, &flips);
		if (status) {
			note_failure(budget, status, &error, flips.to_ns);
		} else {
			budget->failures = 0;
			budget->next_ns = 0;
		}
		for (size_t i = 0; !status && i < batch->count; i++)
			note_one(budget, &flips, &batch->flips[i], batch->positions[i], calls_per_event);
		budget->settling = !status;
		budget->provider->windows_changed = true; /* its manifest says what is out, soon */
	}
	free(batch);
}
