/* From verdicts to hooks. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "recorder/budget/lines.h"
#include "recorder/host/say.h"
#include "recorder/policy/policy.h"
#include "recorder/state/provider.h"

#define FLIPS_MAX 1000u	    /* functions a stop, ... */
#define WORDS_MAX 40000u    /* ... and words */
#define WAIT_NS 30000000ull /* for a CPU, where a process has but one thread */
#define HUSHED_REST 0.1	    /* of what is worth a stop: functions that cost less together stay hushed */
#define FAILED_NS 50000000ull
#define FAILURES_MAX 5u /* doublings of that */

struct batch {
	struct ada_flip flips[FLIPS_MAX];
	size_t positions[FLIPS_MAX];
	size_t count, words;
};

enum ada_verdict ada_budget_wanted(const struct ada_budget *budget, size_t position)
{
	const struct ada_budget_function *function = &budget->functions.items[position];

	if (function->verdict == (function->out ? ADA_VERDICT_RETURN : ADA_VERDICT_LEAVE))
		return function->verdict;
	return budget->lines.items[position].unfinished;
}

/* A stop may have no time for all: what was begun comes first, then what costs most. */
static size_t list_choices(const struct ada_budget *budget, enum ada_verdict verdict, struct ada_choice *choices)
{
	size_t count = 0;

	for (size_t i = 0; i < budget->functions.count; i++)
		if (ada_budget_wanted(budget, i) == verdict)
			choices[count++] = (struct ada_choice){ &budget->functions.items[i],
								budget->lines.items[i].unfinished == verdict &&
										!ada_budget_is_hushed(budget, i) ?
									INFINITY :
									budget->functions.items[i].share };
	ada_choices_sort(choices, count);
	return count;
}

static void choose_flips(struct ada_budget *budget, struct batch *batch, enum ada_verdict verdict)
{
	struct ada_choice *choices = calloc(budget->functions.count + 1, sizeof *choices);
	size_t count = choices ? list_choices(budget, verdict, choices) : 0;
	double excess = ada_budget_hushed_excess(budget, HUSHED_REST);

	for (size_t k = 0; k < count && batch->count < FLIPS_MAX; k++) {
		size_t i = (size_t)(choices[k].function - budget->functions.items);
		const struct ada_budget_line *line = &budget->lines.items[i];
		size_t first = line->unfinished == verdict ? line->reached : 0, words;

		if (ada_budget_is_hushed(budget, i) && excess < 0)
			continue;
		if (verdict == ADA_VERDICT_LEAVE ? !ada_budget_find(budget, i) : !line->found)
			continue;
		words = line->words.items.count - first;
		if (batch->words && batch->words + words > WORDS_MAX)
			continue;
		excess -= ada_budget_hushed_cost(budget, i);
		batch->words += words;
		batch->positions[batch->count] = i;
		batch->flips[batch->count++] = (struct ada_flip){ .out = verdict == ADA_VERDICT_LEAVE, .first = first };
	}
	free(choices);
	for (size_t i = 0; i < batch->count; i++) /* lines don't move any more */
		batch->flips[i].words = &budget->lines.items[batch->positions[i]].words;
}

/* Someone else has changed the bytes: a debugger, the program itself, the loader. */
static void note_strange(struct ada_budget *budget, const struct ada_flip *flip, size_t position)
{
	struct ada_budget_function *function = &budget->functions.items[position];
	struct ada_budget_line *line = &budget->lines.items[position];

	line->found = false;
	function->fixed = flip->out;
	line->fixed = flip->out ? ADA_FIXED_UNKNOWN : line->fixed;
}

static void note_one(struct ada_budget *budget, const struct ada_flips *flips, const struct ada_flip *flip, size_t position,
		     double calls_per_event)
{
	struct ada_budget_line *line = &budget->lines.items[position];
	bool begun = flip->status == -EAGAIN && flip->done > flip->first;

	line->whole = line->whole && !begun && flip->status;
	if (begun) {
		line->unfinished = flip->out ? ADA_VERDICT_LEAVE : ADA_VERDICT_RETURN;
		line->reached = flip->done;
	}
	if (!flip->status)
		line->unfinished = ADA_VERDICT_STAY;
	if ((begun || !flip->status) && flip->out) { /* or the first of its words: calls are missing from now on */
		if (!budget->functions.items[position].out)
			ada_budget_left(budget, position, flips->from_ns, flips->to_ns, calls_per_event);
	} else if (!flip->status) {
		ada_budget_returned(budget, position, flips->to_ns);
	} else if (flip->status != -EAGAIN && flip->status != -EBUSY) {
		note_strange(budget, flip, position);
	}
}

static void note_stop(const struct ada_budget *budget, const struct ada_flips *flips)
{
	struct ada_stops *stops = &budget->provider->stops;

	if (!flips->still_ns)
		return;
	ada_stops_add(&stops->count, 1);
	ada_stops_add(&stops->total_ns, flips->still_ns);
	if (flips->still_ns > stops->longest_ns)
		__atomic_store_n(&stops->longest_ns, flips->still_ns, __ATOMIC_RELAXED);
	ada_stops_add(&stops->worked_ns, flips->cpu_ns);
	if (flips->cpu_ns > stops->dearest_ns)
		__atomic_store_n(&stops->dearest_ns, flips->cpu_ns, __ATOMIC_RELAXED);
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
		ada_say("ada: process %d: its hooks can't be taken out, and let calls pass instead: %s\n", budget->provider->pid,
			error->text);
}

void ada_budget_change(struct ada_budget *budget, uint64_t limit_ns, double calls_per_event)
{
	struct batch *batch = calloc(1, sizeof *batch);
	struct ada_flips flips = { .pid = budget->provider->pid,
				   .memory = budget->text.memory,
				   .limit_ns = limit_ns,
				   .wait_ns = limit_ns > WAIT_NS ? limit_ns : WAIT_NS,
				   .pace = &budget->pace };
	struct ada_background *background = &budget->provider->recorder->background;
	struct ada_policy *policy = budget->provider->recorder->policy;
	struct ada_error error = { "" };
	int status;

	if (!batch)
		return;
	ada_text_remember(&budget->text);
	choose_flips(budget, batch, ADA_VERDICT_RETURN);
	choose_flips(budget, batch, ADA_VERDICT_LEAVE);
	ada_text_forget(&budget->text);
	if (batch->count && ada_policy_late_hold(policy)) {
		flips.items = batch->flips;
		flips.count = batch->count;
		ada_background_leave(background); /* the process waits for this thread, and for the one that it creates */
		status = ada_flips_run(&flips, &error);
		ada_background_return(background);
		ada_policy_late_release(policy);
		budget->stopped_ns = ada_clock_boottime_ns();
		note_stop(budget, &flips);
		if (status) {
			note_failure(budget, status, &error, flips.to_ns);
		} else {
			budget->failures = 0;
			budget->next_ns = 0;
			budget->waiting_ns = 0;
		}
		for (size_t i = 0; !status && i < batch->count; i++)
			note_one(budget, &flips, &batch->flips[i], batch->positions[i], calls_per_event);
		budget->settling = !status;
		budget->provider->mutes_changed = true; /* its manifest says what is out, soon */
	}
	free(batch);
}
