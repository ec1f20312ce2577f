/* Mutes that need no stop: the hook itself lets calls pass as soon as the policy says so (abi/policy.h). All that is to leave is hushed at once,
 * however little time stops may take; a call costs a part of what it did until its function's words are out, too. */
#include "base/clock.h"
#include "recorder/budget/lines.h"
#include "recorder/policy/policy.h"
#include "recorder/state/provider.h"

/* What a call that passes costs, of what one that is recorded is thought to. Both cost several times as much in code that lies in no cache. */
#define CALL_PART 0.6
#define WORTH_A_STOP 0.1 /* of the budget, that these calls cost together */
#define STOP_NEARS 0.5	 /* of that: then their words are looked for */
#define CALM_NS 60000000ull
#define WORDS_NS 2000000ull /* of CPU time a look, for words */
#define PATIENCE_NS 400000000ull

bool ada_budget_is_hushed(const struct ada_budget *budget, size_t position)
{
	const struct ada_budget_line *line = &budget->lines.items[position];

	return line->hushed && line->whole && budget->functions.items[position].out;
}

bool ada_budget_lacks_words(const struct ada_budget *budget, size_t position)
{
	const struct ada_budget_line *line = &budget->lines.items[position];

	return ada_budget_is_hushed(budget, position) && !line->found && !line->fixed;
}

static bool mute(const struct ada_budget *budget, size_t position, bool muted)
{
	struct ada_provider *provider = budget->provider;

	return ada_policy_mute(provider->recorder->policy, provider, budget->lines.items[position].function_id, muted);
}

void ada_budget_unhush(struct ada_budget *budget, size_t position)
{
	budget->lines.items[position].hushed = !mute(budget, position, false);
}

/* Since before the first call that may be missing. */
static bool hush(struct ada_budget *budget, size_t position, double calls_per_event)
{
	struct ada_budget_line *line = &budget->lines.items[position];
	uint64_t from_ns = ada_clock_boottime_ns();

	if (!ada_text_may_pass(&budget->text, line->function_id) || !mute(budget, position, true))
		return false;
	line->hushed = line->whole = line->passes = true;
	line->unfinished = ADA_VERDICT_LEAVE;
	line->reached = 0;
	ada_budget_left(budget, position, from_ns, ada_clock_boottime_ns(), calls_per_event);
	return true;
}

/* Words are looked for behind that, some in each look: it takes longer than all else, and what is to leave costs the program until it is
 * hushed. A stop looks for those that are missing; where none is near, nobody needs them. */
static void find_words(struct ada_budget *budget)
{
	uint64_t end_ns;

	if (ada_budget_hushed_excess(budget, STOP_NEARS) <= 0)
		return;
	end_ns = ada_clock_thread_ns() + WORDS_NS;
	ada_text_remember(&budget->text);
	for (size_t i = 0; i < budget->functions.count; i++) {
		if (!ada_budget_lacks_words(budget, i))
			continue;
		ada_budget_find(budget, i);
		if (ada_clock_thread_ns() >= end_ns)
			break;
	}
	ada_text_forget(&budget->text);
}

void ada_budget_hush(struct ada_budget *budget, double calls_per_event)
{
	bool any = false;

	for (size_t i = 0; i < budget->functions.count; i++) {
		struct ada_budget_function *function = &budget->functions.items[i];

		if (function->verdict == ADA_VERDICT_LEAVE && !function->out) {
			any |= hush(budget, i, calls_per_event);
		} else if (function->verdict == ADA_VERDICT_RETURN && ada_budget_is_hushed(budget, i)) {
			ada_budget_returned(budget, i, ada_clock_boottime_ns());
			any = true;
		}
	}
	if (any) {
		budget->hushed_ns = ada_clock_boottime_ns();
		budget->waiting_ns = budget->waiting_ns ? budget->waiting_ns : budget->hushed_ns;
		budget->settling = true;
		budget->provider->mutes_changed = true;
	}
	find_words(budget);
}

double ada_budget_hushed_cost(const struct ada_budget *budget, size_t position)
{
	bool lasts = budget->lines.items[position].fixed; /* its words can't go out */

	return ada_budget_is_hushed(budget, position) && !lasts ? budget->functions.items[position].share * CALL_PART : 0;
}

/* A stop costs its time however little is done in it: so it waits until no more is hushed, but not for long. */
static bool is_calm(const struct ada_budget *budget, uint64_t now_ns)
{
	return now_ns >= budget->hushed_ns + CALM_NS || now_ns >= budget->waiting_ns + PATIENCE_NS;
}

double ada_budget_hushed_excess(const struct ada_budget *budget, double part)
{
	double sum = 0;

	for (size_t i = 0; i < budget->functions.count; i++)
		sum += ada_budget_hushed_cost(budget, i);
	return sum - budget->decider.budget * WORTH_A_STOP * part;
}

bool ada_budget_wants_stop(const struct ada_budget *budget, uint64_t now_ns)
{
	for (size_t i = 0; i < budget->functions.count; i++)
		if (!ada_budget_is_hushed(budget, i) && ada_budget_wanted(budget, i) != ADA_VERDICT_STAY)
			return true;
	return is_calm(budget, now_ns) && ada_budget_hushed_excess(budget, 1) > 0;
}
