#include "recorder/budget/budget.h"
#include <stdlib.h>
#include <unistd.h>
#include "base/clock.h"
#include "recorder/budget/learned.h"
#include "recorder/budget/lines.h"
#include "recorder/detail/detail.h"
#include "recorder/policy/policy.h"
#include "recorder/sched/samples.h"
#include "recorder/sched/sched.h"
#include "recorder/state/provider.h"

#define FIRST_NS 5000000ull  /* of the process's time, until the first look */
#define SOON_NS 20000000ull  /* behind a change */
#define LOOK_NS 100000000ull /* else, once it is older than: */
#define YOUNG_NS 500000000ull
#define LOOK_CHUNKS 5 /* of events */
#define CPU_LEAST_NS 2000000ull
#define SETTLE_NS 200000000ull /* at most, for what was recorded before a change to be drained */
#define STOP_NS 5000000ull     /* a stop; all of them together: */
#define STOPS_FREE_NS 15000000ull
#define STOPS_FREE_STILL_NS 60000000ull /* where the machine had no CPU for the recorder meanwhile */
#define STOPS_SHARE 500			/* a five hundredth of the time */
#define EVENT_NS 20.0			/* where the program has not had enough short calls, and nothing was measured */
#define STILL_SPEAKS 1000u		/* events in a look of a function whose hook is out: it is called in ways that weren't known */
#define HISTORY_STEP 4u			/* chunks of detail, so often: 80 s until the pool is all there, should all of it be wanted */
#define HISTORY_NS 1000000000ull
#define HOOKS_LEAST 0.2	   /* of the budget, that hooks may cost however much else is recorded */
#define FLIP_NS 3000000ull /* --debug-flip: between changes */
#define FLIP_STOP_NS 500000000ull
#define FLIP_FUNCTIONS 48u
#define FLIP_HUSHES 4u	/* one in so many changes is without a stop */
#define FLIP_MUTEXES 8u /* one in so many is a mutex's function, where there are any */

static void take_news(void *context, uint64_t function_id, const struct ada_ledger_seen *news)
{
	struct ada_budget *budget = context;
	size_t position = ada_budget_line_of(budget, function_id);
	struct ada_budget_function *function;

	if (position == SIZE_MAX)
		return;
	function = &budget->functions.items[position];
	function->events = news->events;
	function->objects = news->objects;
	function->leaves = (double)news->leaves * 2 / (double)news->events;
	function->leaves = function->leaves < 1 ? function->leaves : 1;
}

/* The last look is now. */
static void begin_look(struct ada_budget *budget, uint64_t now_ns)
{
	struct ada_provider *provider = budget->provider;

	ada_ledger_news(&provider->ledger, NULL, NULL);
	ada_clock_process_ns(provider->pid, &budget->base_cpu_ns);
	budget->base_ns = now_ns;
	budget->base_events = ada_provider_events(provider);
	budget->base_lost = ada_provider_lost(provider);
}

static bool is_drained(const struct ada_provider *provider)
{
	const struct ada_shm *shm = provider->segment.shm;

	return __atomic_load_n(&shm->sealed_head, __ATOMIC_ACQUIRE) == __atomic_load_n(&shm->sealed_tail, __ATOMIC_ACQUIRE);
}

/* Rules have changed: functions that they name come back at once. False: the policy is being changed, so not all could be asked for. */
static bool follow_policy(struct ada_budget *budget)
{
	struct ada_recorder *recorder = budget->provider->recorder;
	uint32_t version = ada_policy_version(recorder->policy);
	bool any = false;

	if (version == budget->policy_version)
		return true;
	for (size_t i = 0; i < budget->lines.count; i++) {
		budget->lines.items[i].looked_for = false;
		if (!budget->functions.items[i].out)
			continue;
		if (!ada_budget_look_up(budget, i))
			return false;
		budget->functions.items[i].verdict = budget->functions.items[i].fixed ? ADA_VERDICT_RETURN : ADA_VERDICT_STAY;
		any |= budget->functions.items[i].fixed;
	}
	if (any) {
		ada_budget_hush(budget, 0);
		if (!budget->given_up)
			ada_budget_change(budget, STOP_NS, 0);
	}
	for (size_t i = 0; i < budget->lines.count; i++)
		if (budget->functions.items[i].out && budget->functions.items[i].fixed && budget->lines.items[i].found)
			return false; /* a thread was in its way: again in the next turn */
	budget->policy_version = version;
	__atomic_store_n(&budget->provider->muted_version, version, __ATOMIC_RELEASE);
	return true;
}

static bool look_up_all(struct ada_budget *budget)
{
	for (size_t i = 0; i < budget->lines.count; i++)
		if (budget->functions.items[i].events && !ada_budget_look_up(budget, i))
			return false;
	return true;
}

/* A module that came since has a slot that leads to it, or the like: what is known of its words is not all. */
static void notice_speakers(struct ada_budget *budget, uint64_t now_ns)
{
	bool looked = false;

	for (size_t i = 0; i < budget->lines.count; i++)
		if (budget->functions.items[i].out && !budget->functions.items[i].filters && !budget->lines.items[i].unfinished &&
		    budget->functions.items[i].events > STILL_SPEAKS) {
			if (!looked) {
				ada_text_look(&budget->text, budget->provider);
				ada_text_remember(&budget->text);
			}
			looked = true;
			ada_words_add(&budget->lines.items[i].words, &budget->text, budget->lines.items[i].function_id);
			ada_budget_unmute(budget, i, now_ns);
		}
	ada_text_forget(&budget->text);
}

/* Its history of detail grows while it costs no more than it may, and slowly: each page of it has to be cleared before, which costs more than
 * to fill it. What a young process will cost isn't known yet. No window takes more of it than a pre-roll: beyond that, it would cost all the
 * same. */
static void widen_history(struct ada_budget *budget, uint64_t now_ns)
{
	struct ada_segment *segment = &budget->provider->segment;
	uint64_t *history = &segment->shm->detail.history, wider = *history + HISTORY_STEP;
	const struct ada_details *details = budget->provider->details;

	if (!*history || budget->decider.cost > budget->decider.budget || now_ns < budget->start_ns + YOUNG_NS ||
	    now_ns < budget->history_ns + HISTORY_NS || !details || ada_details_reach(details, now_ns))
		return;
	budget->history_ns = now_ns;
	__atomic_store_n(history, wider < segment->detail_chunks ? wider : 0, __ATOMIC_RELAXED);
}

static void publish(struct ada_budget *budget)
{
	uint64_t muted = 0;

	for (size_t i = 0; i < budget->functions.count; i++)
		muted += budget->functions.items[i].out;
	__atomic_store_n(&budget->provider->muted, muted, __ATOMIC_RELAXED);
	__atomic_store_n(&budget->provider->cost_ppm, (uint64_t)(budget->decider.cost * 1e6), __ATOMIC_RELAXED);
}

static bool may_stop(const struct ada_budget *budget, uint64_t now_ns)
{
	const struct ada_stops *stops = &budget->provider->stops;
	uint64_t more_ns = (now_ns - budget->start_ns) / STOPS_SHARE;

	return !budget->given_up && stops->worked_ns <= STOPS_FREE_NS + more_ns && stops->total_ns <= STOPS_FREE_STILL_NS + more_ns;
}

static bool any_verdict(const struct ada_budget *budget, enum ada_verdict verdict)
{
	for (size_t i = 0; i < budget->functions.count; i++)
		if (budget->functions.items[i].verdict == verdict)
			return true;
	return false;
}

static void carry_out(struct ada_budget *budget, uint64_t now_ns, double calls_per_event)
{
	ada_budget_hush(budget, calls_per_event);
	if (!may_stop(budget, now_ns))
		return;
	ada_calls_follow(budget, now_ns);
	if (ada_budget_wants_stop(budget, now_ns))
		ada_budget_change(budget, STOP_NS, calls_per_event);
}

static void want_expected(struct ada_budget *budget)
{
	for (size_t i = 0; i < budget->lines.count; i++)
		if (budget->lines.items[i].expected && !budget->functions.items[i].fixed)
			budget->functions.items[i].verdict = ADA_VERDICT_LEAVE;
}

/* It may cost next to nothing itself. */
static void follow_children(struct ada_budget *budget, uint64_t now_ns)
{
	budget->next_ns = now_ns + LOOK_NS;
	if (!ada_budget_note_windows(budget, now_ns))
		return;
	ada_budget_follow_modules(budget);
	ada_learned_follow_children(budget, now_ns);
	for (size_t i = 0; i < budget->lines.count; i++)
		budget->functions.items[i].verdict = budget->functions.items[i].out && budget->functions.items[i].fixed ?
							     ADA_VERDICT_RETURN :
							     ADA_VERDICT_STAY;
	want_expected(budget);
	carry_out(budget, now_ns, 0);
	for (size_t i = 0; i < budget->lines.count; i++)
		budget->heirs_changed |= budget->lines.items[i].expected && !budget->functions.items[i].fixed;
	publish(budget);
}

/* A chunk of events more or less is a fifth of what a look behind 20 ms sees: that would let functions go and come for the noise alone. But
 * what has come back may cost many times the budget until it is looked at, and what is hushed waits for a stop, which a look may begin. */
static uint64_t until_next(struct ada_budget *budget, uint64_t now_ns)
{
	uint64_t returned = budget->provider->stops.returned;
	bool any = returned != budget->returned;

	budget->returned = returned;
	return any || now_ns < budget->start_ns + YOUNG_NS || ada_budget_hushed_excess(budget, 1) > 0 ? SOON_NS : LOOK_NS;
}

/* Where there is news of it: to follow a child takes longer than most looks. */
static void tell_parent(struct ada_budget *budget)
{
	uint64_t news = budget->provider->stops.left + budget->provider->stops.returned + budget->windows_ns + budget->calls_age_ns;

	if (news == budget->told)
		return;
	budget->told = news;
	ada_learned_tell_parent(budget);
}

/* What the scheduling lane takes isn't there for hooks; nor is what the recorder takes, where programs would have it. */
static double budget_of_hooks(struct ada_recorder *recorder, uint64_t now_ns)
{
	double whole = recorder->options->budget, left = whole - ada_sched_share(recorder->sched);
	double least = left < whole * HOOKS_LEAST ? left : whole * HOOKS_LEAST;
	uint64_t own_ns;

	if (ada_clock_process_ns(getpid(), &own_ns))
		left -= ada_own_share(&recorder->own, "", now_ns, own_ns);
	return left > least ? left : least;
}

static void look(struct ada_budget *budget, uint64_t now_ns, uint64_t cpu_ns)
{
	struct ada_provider *provider = budget->provider;
	uint64_t events = ada_provider_events(provider), lost = ada_provider_lost(provider);
	const struct ada_price price = ada_provider_price_at_most(provider);
	struct ada_budget_look look = {
		.now_ns = now_ns, .cpu_ns = cpu_ns - budget->base_cpu_ns, .event_ns = price.event_ns, .object_ns = price.object_ns
	};

	budget->decider.budget = budget_of_hooks(provider->recorder, now_ns);
	ada_samples_spare(provider->recorder->samples, provider->recorder->own.full);
	look.spares = provider->parent && provider->recorder->own.full;
	for (size_t i = 0; i < budget->functions.count; i++)
		budget->functions.items[i].events = budget->functions.items[i].objects = 0;
	ada_ledger_news(&provider->ledger, take_news, budget);
	ada_budget_follow_modules(budget);
	look.event_ns = look.event_ns > 0 ? look.event_ns : EVENT_NS;
	look.object_ns = look.object_ns > 0 ? look.object_ns : look.event_ns;
	look.unseen = events > budget->base_events ? (double)(lost - budget->base_lost) / (double)(events - budget->base_events) : 0;
	if (look_up_all(budget) && ada_budget_note_windows(budget, now_ns)) {
		double calls_per_event = 0.5 * (1 + look.unseen) * 1e9 / (double)(now_ns - budget->base_ns);

		notice_speakers(budget, now_ns);
		ada_learned_follow_children(budget, now_ns);
		ada_decide(&budget->decider, &look, budget->functions.items, budget->functions.count);
		widen_history(budget, now_ns);
		if (!budget->learnt && any_verdict(budget, ADA_VERDICT_LEAVE))
			ada_learned_take(budget);
		want_expected(budget);
		budget->next_ns = now_ns + until_next(budget, now_ns);
		carry_out(budget, now_ns, calls_per_event);
	}
	publish(budget);
	begin_look(budget, now_ns);
	tell_parent(budget);
}

/* Events come a chunk at a time: of a process that had made a few of them by then, a look behind 20 ms sees none, or what it made in the time
 * before. */
static bool says_enough(const struct ada_budget *budget, uint64_t now_ns)
{
	return now_ns >= budget->base_ns + LOOK_NS || now_ns < budget->start_ns + YOUNG_NS ||
	       ada_provider_events(budget->provider) >= budget->base_events + LOOK_CHUNKS * ADA_CHUNK_EVENTS;
}

/* A server has processes that do next to nothing: of these, too, one may begin to any moment, but to ask for its time takes a system call. */
static void look_if_it_ran(struct ada_budget *budget, uint64_t now_ns)
{
	uint64_t cpu_ns;
	bool ran = ada_clock_process_ns(budget->provider->pid, &cpu_ns) && cpu_ns >= budget->base_cpu_ns + CPU_LEAST_NS;

	budget->next_ns = now_ns + (now_ns < budget->start_ns + YOUNG_NS ? FIRST_NS : SOON_NS);
	if (ran && says_enough(budget, now_ns))
		look(budget, now_ns, cpu_ns);
	else if (!ran && budget->heirs_changed)
		follow_children(budget, now_ns);
}

/* What was recorded before a change would look as if it came after. */
static void settle(struct ada_budget *budget, uint64_t now_ns)
{
	if (!is_drained(budget->provider) && now_ns < budget->base_ns + SETTLE_NS)
		return;
	budget->settling = false;
	begin_look(budget, now_ns);
	budget->next_ns = now_ns + (!budget->provider->stops.left ? FIRST_NS : until_next(budget, now_ns));
}

/* --- --debug-flip ------------------------------------------------------------------------------------------------------------ */

static uint64_t next_random(struct ada_budget *budget)
{
	budget->random ^= budget->random << 13;
	budget->random ^= budget->random >> 7;
	budget->random ^= budget->random << 17;
	return budget->random;
}

/* Any function that may have a hook. */
static uint64_t any_function(struct ada_budget *budget)
{
	const struct ada_text *text = &budget->text;
	uint64_t id = text->modules.count ? next_random(budget) % (text->modules.count + 1) : 0;
	const struct ada_text_module *module = id < text->modules.count ? &text->modules.items[id] : NULL;

	if (text->mutexes.count && next_random(budget) % FLIP_MUTEXES == 0)
		return text->mutexes.items[next_random(budget) % text->mutexes.count];
	if (!module && text->slots.count)
		return text->slots.items[next_random(budget) % text->slots.count].function_id;
	if (!module || !module->traced || !ada_plan_header(module->plan)->hook_count)
		return UINT64_MAX;
	return ADA_FUNCTION_ID(id, ada_plan_hooks(module->plan)[next_random(budget) % ada_plan_header(module->plan)->hook_count].function);
}

static void flip_some(struct ada_budget *budget, uint64_t now_ns)
{
	ada_budget_follow_modules(budget);
	for (size_t i = 0; i < budget->functions.count; i++)
		budget->functions.items[i].verdict = ADA_VERDICT_STAY;
	for (unsigned i = 0; i < FLIP_FUNCTIONS; i++) {
		uint64_t id = any_function(budget);
		size_t position = id == UINT64_MAX ? SIZE_MAX : ada_budget_line_of(budget, id);
		struct ada_budget_function *function;

		if (position == SIZE_MAX || !ada_budget_look_up(budget, position))
			continue;
		function = &budget->functions.items[position];
		if (function->out)
			function->verdict = ADA_VERDICT_RETURN;
		else if (!function->fixed)
			function->verdict = ADA_VERDICT_LEAVE;
	}
	if (next_random(budget) % FLIP_HUSHES == 0)
		ada_budget_hush(budget, 0);
	else
		ada_budget_change(budget, FLIP_STOP_NS, 0);
	budget->next_ns = now_ns + FLIP_NS;
	budget->settling = false;
	publish(budget);
}

/* --debug-filter: whatever can be filtered, and nothing else. */
static void filter_mutexes(struct ada_budget *budget, uint64_t now_ns)
{
	ada_budget_follow_modules(budget);
	for (size_t i = 0; i < budget->text.mutexes.count; i++) {
		size_t position = ada_budget_line_of(budget, budget->text.mutexes.items[i]);

		if (position != SIZE_MAX && ada_budget_look_up(budget, position) && !budget->functions.items[position].out)
			budget->functions.items[position].verdict = ADA_VERDICT_LEAVE;
	}
	ada_budget_change(budget, FLIP_STOP_NS, 0);
	for (size_t i = 0; i < budget->functions.count; i++)
		budget->functions.items[i].verdict = ADA_VERDICT_STAY;
	budget->next_ns = now_ns + FLIP_NS;
	budget->settling = false;
	publish(budget);
}

/* --- the process's turns ------------------------------------------------------------------------------------------------------ */

static bool is_wanted(const struct ada_provider *provider)
{
	return ada_options_flip(provider->recorder->options);
}

void ada_budget_turn(struct ada_provider *provider, uint64_t now_ns)
{
	struct ada_budget *budget = provider->budget;

	if (!is_wanted(provider) || provider->ended || !provider->mapped || provider->drain.failed ||
	    __atomic_load_n(&provider->gone_ns, __ATOMIC_ACQUIRE) || __atomic_load_n(&provider->starting, __ATOMIC_ACQUIRE))
		return;
	if (!budget && ada_budget_open(&provider->budget, provider, false))
		return;
	budget = provider->budget;
	if (!follow_policy(budget) || now_ns < budget->next_ns)
		return;
	if (provider->recorder->options->flip)
		flip_some(budget, now_ns);
	else if (provider->recorder->options->filter)
		filter_mutexes(budget, now_ns);
	else if (budget->settling)
		settle(budget, now_ns);
	else
		look_if_it_ran(budget, now_ns);
}

void ada_budget_end(struct ada_provider *provider)
{
	/* A child that was too short for a turn has what its parent had out, all the same. */
	if (!provider->budget && is_wanted(provider) && provider->parent && provider->parent->mutes.count)
		ada_budget_open(&provider->budget, provider, true);
	if (provider->budget && provider->recorder->options->budget > 0) {
		ada_learned_keep(provider->budget);
		ada_learned_leave_to_parent(provider->budget, ada_clock_boottime_ns());
	}
	ada_budget_free(provider->budget);
	provider->budget = NULL;
}
