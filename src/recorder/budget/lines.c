#include "recorder/budget/lines.h"
#include <errno.h>
#include <stdlib.h>
#include "base/clock.h"
#include "recorder/policy/policy.h"
#include "trigger/pattern.h"
#include "recorder/state/provider.h"

#define FORKED_NS 100000000ull	     /* between a fork and its child's first word to us */
#define LONG_FORKED_NS 1000000000ull /* the same, wherever there is any CPU for it */
#define CALLS_NS 1000000000ull	     /* how old a process is that looks for calls that were made late */
#define CALLS_FEW 20u		     /* that a child found: its siblings look later */

size_t ada_budget_line_of(struct ada_budget *budget, uint64_t function_id)
{
	uint64_t position;

	if (ada_table_get(&budget->by_id, function_id, &position))
		return position;
	if (ada_array_reserve(&budget->functions, 1) || ada_array_reserve(&budget->lines, 1) ||
	    ada_table_put(&budget->by_id, function_id, budget->lines.count))
		return SIZE_MAX;
	budget->functions.items[budget->functions.count++] = (struct ada_budget_function){ 0 };
	budget->lines.items[budget->lines.count] = (struct ada_budget_line){ .function_id = function_id };
	return budget->lines.count++;
}

static void mute_begin(struct ada_budget *budget, size_t position, uint64_t ns, double calls_a_second)
{
	struct ada_provider *provider = budget->provider;
	struct ada_budget_line *line = &budget->lines.items[position];

	if (provider->mutes.count >= ADA_MUTES_MAX && line->mute) {
		provider->mutes.items[line->mute - 1].to_ns = 0;
	} else if (!ada_array_push(&provider->mutes, (struct ada_mute){ .function_id = line->function_id,
									.filtered = budget->functions.items[position].filters,
									.from_ns = ns,
									.calls_a_second = calls_a_second })) {
		line->mute = provider->mutes.count;
	}
}

void ada_budget_unmute(struct ada_budget *budget, size_t position, uint64_t ns)
{
	struct ada_budget_line *line = &budget->lines.items[position];
	struct ada_mute *mute = line->mute ? &budget->provider->mutes.items[line->mute - 1] : NULL;

	budget->functions.items[position].out = false;
	line->unfinished = ADA_VERDICT_STAY;
	if (line->hushed) { /* until its hook records again */
		ada_budget_unhush(budget, position);
		ns = ada_clock_boottime_ns();
	}
	if (mute && !mute->to_ns)
		mute->to_ns = ns;
}

void ada_budget_left(struct ada_budget *budget, size_t position, uint64_t from_ns, uint64_t to_ns, double calls_per_event)
{
	struct ada_budget_function *function = &budget->functions.items[position];
	struct ada_budget_line *line = &budget->lines.items[position];

	line->loads = budget->provider->segment.modules[ADA_FUNCTION_MODULE(line->function_id)].loads;
	line->expected = false;
	ada_decide_left(function, to_ns);
	ada_stops_add(&budget->provider->stops.left, 1);
	mute_begin(budget, position, from_ns, (double)function->events * calls_per_event);
}

void ada_budget_returned(struct ada_budget *budget, size_t position, uint64_t ns)
{
	struct ada_budget_line *line = &budget->lines.items[position];

	ada_budget_unmute(budget, position, ns);
	/* It may be called from other places by the time that it goes out again. But slots are found by looks at all of them, and those don't see
	 * what is out: the ones that were known to lead to it still do. */
	line->found = line->found && !line->words.patch && !line->words.filters;
	if (!budget->functions.items[position].fixed)
		ada_decide_returned(&budget->decider, &budget->functions.items[position], ns);
	ada_stops_add(&budget->provider->stops.returned, 1);
}

static uint32_t loads_of(const struct ada_provider *provider, uint64_t function_id)
{
	uint32_t id = ADA_FUNCTION_MODULE(function_id);

	return id < ada_segment_module_count(&provider->segment) && provider->segment.modules[id].present == 1 ?
		       provider->segment.modules[id].loads :
		       UINT32_MAX;
}

static uint64_t stamp_of(const struct ada_provider *provider)
{
	uint32_t count = ada_segment_module_count(&provider->segment);
	uint64_t stamp = count;

	for (uint32_t id = 0; id < count; id++)
		stamp = stamp * 31 + provider->segment.modules[id].loads * 2 +
			(__atomic_load_n(&provider->segment.modules[id].present, __ATOMIC_ACQUIRE) == 1);
	return stamp;
}

void ada_budget_follow_modules(struct ada_budget *budget)
{
	uint64_t stamp = stamp_of(budget->provider), now = ada_clock_boottime_ns();

	if (stamp == budget->text_stamp)
		return;
	budget->text_stamp = stamp;
	ada_text_look(&budget->text, budget->provider);
	for (size_t i = 0; i < budget->lines.count; i++) {
		struct ada_budget_line *line = &budget->lines.items[i];

		if (!budget->functions.items[i].out) {
			line->found = false; /* a module may have come that calls it */
			line->fixed = line->fixed == ADA_FIXED_UNKNOWN ? ADA_FIXED_NOT : line->fixed;
			budget->functions.items[i].fixed = line->fixed;
		} else if (loads_of(budget->provider, line->function_id) != line->loads) {
			line->found = false;
			ada_budget_unmute(budget, i, now);
		} else if (line->hushed && !ada_policy_is_muted(budget->provider->recorder->policy, budget->provider, line->function_id)) {
			line->hushed = false; /* another module has its numbers, too */
			if (line->whole)
				ada_budget_unmute(budget, i, now);
		}
	}
}

static bool is_kept(const struct ada_budget *budget, const struct ada_plan *plan, uint64_t function_id)
{
	const struct ada_provider *provider = budget->provider;
	const struct ada_plan_function *function = &ada_plan_functions(plan)[ADA_FUNCTION_SYMBOL(function_id)];
	char place[ADA_PLACE_TEXT];

	if (!provider->recorder->kept)
		return false;
	ada_place_text(place, provider->segment.modules[ADA_FUNCTION_MODULE(function_id)].path, function->address);
	return ada_filter_passes(provider->recorder->kept, ada_plan_string(plan, function->name), place);
}

/* Whether the hook stays, as the decider has it. */
static void tell_fixed(struct ada_budget *budget, size_t position)
{
	const struct ada_budget_line *line = &budget->lines.items[position];

	budget->functions.items[position].fixed = line->passes && line->fixed != ADA_FIXED_NAMED ? ADA_FIXED_NOT : line->fixed;
}

bool ada_budget_look_up(struct ada_budget *budget, size_t position)
{
	struct ada_budget_line *line = &budget->lines.items[position];
	uint32_t id = ADA_FUNCTION_MODULE(line->function_id), symbol = ADA_FUNCTION_SYMBOL(line->function_id);
	const struct ada_plan *plan = id < budget->text.modules.count ? budget->text.modules.items[id].plan : NULL;
	int named = 0;

	if (line->looked_for)
		return true;
	if (plan && symbol < ada_plan_header(plan)->function_count) {
		named = ada_policy_names_function(budget->provider->recorder->policy, plan, symbol);
		if (named < 0)
			return false;
		/* What a window can name of a mutex's function are calls that waited: those are recorded however its hook is. */
		named = named || (line->on_path && !(ada_plan_functions(plan)[symbol].flags & ADA_FUNCTION_MUTEX)) ||
			is_kept(budget, plan, line->function_id);
	}
	if (named)
		line->fixed = ADA_FIXED_NAMED;
	else if (line->fixed == ADA_FIXED_NAMED)
		line->fixed = ADA_FIXED_NOT;
	tell_fixed(budget, position);
	line->looked_for = true;
	return true;
}

bool ada_budget_find(struct ada_budget *budget, size_t position)
{
	struct ada_budget_line *line = &budget->lines.items[position];

	if (!line->found && !line->fixed) {
		line->fixed = ada_words_find(&line->words, &budget->text, line->function_id);
		line->found = !line->fixed;
		budget->functions.items[position].filters = line->words.filters;
		tell_fixed(budget, position);
	}
	return line->found && !line->fixed;
}

/* --- a fork's child ------------------------------------------------------------------------------------------------------- */

static bool was_out(const struct ada_mute *mute, uint64_t start_ns)
{
	return mute->from_ns <= start_ns && (!mute->to_ns || mute->to_ns + FORKED_NS >= start_ns);
}

bool ada_budget_copy_words(struct ada_budget_line *line, const struct ada_budget_line *from)
{
	if (!from->found || ada_array_reserve(&line->words.items, from->words.items.count))
		return false;
	memcpy(line->words.items.items, from->words.items.items, from->words.items.count * sizeof *from->words.items.items);
	line->words.items.count = from->words.items.count;
	line->words.patch = from->words.patch;
	line->words.filters = from->words.filters;
	line->words.copied = from->words.copied;
	line->found = true;
	return true;
}

void ada_budget_merge_words(struct ada_budget_line *line, const struct ada_budget_line *from, const struct ada_text *text)
{
	const struct ada_words *own = &line->words, *others = &from->words;
	size_t count = own->items.count, same = 0;

	if (!from->found || line->unfinished == ADA_VERDICT_RETURN || own->filters != others->filters)
		return;
	while (same < count && same < others->items.count && own->items.items[same].at == others->items.items[same].at)
		same++; /* as a child has its parent's */
	for (size_t i = same; i < others->items.count && own->items.count < ADA_WORDS_MAX; i++) {
		const struct ada_word *word = &others->items.items[i];

		if (!ada_words_have(own, word->at) && ada_word_is_call(word) && (!text || ada_word_leads(word, text, line->function_id)))
			ada_array_push(&line->words.items, *word);
	}
	if (own->items.count == count || line->unfinished)
		return;
	line->unfinished = ADA_VERDICT_LEAVE;
	line->reached = count;
}

/* Whether its text is what the parent's is, for no stop came since. */
static bool forked_behind(const struct ada_provider *provider, const struct ada_budget *parent)
{
	return provider->start_ns > parent->stopped_ns + LONG_FORKED_NS;
}

static void inherit_words(struct ada_budget *budget, size_t position, const struct ada_budget *parent, uint64_t function_id)
{
	struct ada_budget_line *line = &budget->lines.items[position];
	const struct ada_budget_line *from;
	uint64_t number;

	if (!parent || !ada_table_get(&parent->by_id, function_id, &number))
		return;
	from = &parent->lines.items[number];
	budget->functions.items[position].share = parent->functions.items[number].share;
	if (!ada_budget_copy_words(line, from)) {
		line->whole = line->passes = line->hushed && from->whole;
		line->unfinished = line->whole ? ADA_VERDICT_LEAVE : line->unfinished;
		return;
	}
	line->passes = line->hushed;
	line->unfinished = from->unfinished; /* from the first word on: the fork may lie before the last stop */
	if (forked_behind(budget->provider, parent)) {
		line->whole = from->whole;
		line->reached = from->reached;
	} else if (budget->text.memory >= 0 && ada_words_are(&line->words, &budget->text, false)) {
		line->whole = true;
		line->unfinished = ADA_VERDICT_LEAVE;
	}
	if (line->whole && !line->hushed)
		ada_budget_unmute(budget, position, budget->provider->start_ns);
}

/* What a parent has out for its children's sake its children called so often. */
static double calls_before(const struct ada_budget *parent, const struct ada_mute *mute)
{
	uint64_t number;

	return parent && ada_table_get(&parent->by_id, mute->function_id, &number) && parent->lines.items[number].calls_a_second > 0 ?
		       parent->lines.items[number].calls_a_second :
		       mute->calls_a_second;
}

/* Out, for a pause, and as dear as the parent knows: without that all of them would seem to fit, come back in the first look, and go again. */
static void inherit_function(struct ada_budget *budget, size_t position, const struct ada_budget *parent)
{
	struct ada_budget_function *function = &budget->functions.items[position];
	uint64_t number;

	function->out = true;
	if (parent && ada_table_get(&parent->by_id, budget->lines.items[position].function_id, &number))
		function->share = parent->functions.items[number].share;
	ada_decide_stays(function, budget->start_ns);
}

static void inherit(struct ada_budget *budget)
{
	struct ada_provider *provider = budget->provider;
	const struct ada_provider *parent = provider->parent;

	if (parent && parent->budget && stamp_of(provider) == parent->budget->text_stamp &&
	    !ada_text_copy(&budget->text, &parent->budget->text))
		budget->text_stamp = parent->budget->text_stamp;
	ada_text_remember(&budget->text);
	for (size_t i = 0; parent && i < parent->mutes.count; i++) {
		const struct ada_mute *mute = &parent->mutes.items[i];
		bool hushed = ada_policy_is_muted(provider->recorder->policy, provider, mute->function_id);
		size_t position = hushed || was_out(mute, provider->start_ns) ? ada_budget_line_of(budget, mute->function_id) : SIZE_MAX;

		if (position == SIZE_MAX || budget->functions.items[position].out)
			continue;
		inherit_function(budget, position, parent->budget);
		budget->functions.items[position].filters = mute->filtered;
		budget->lines.items[position].loads = loads_of(provider, mute->function_id);
		budget->lines.items[position].hushed = hushed;
		mute_begin(budget, position, provider->start_ns, calls_before(parent->budget, mute));
		inherit_words(budget, position, parent->budget, mute->function_id);
	}
	ada_text_forget(&budget->text);
}

uint64_t ada_calls_age(const struct ada_budget *budget)
{
	const struct ada_provider *parent = budget->provider->parent;

	if (budget->calls_age_ns)
		return budget->calls_age_ns;
	return parent && parent->budget && parent->budget->heirs_find_few ? ADA_CALLS_GROW * CALLS_NS : CALLS_NS;
}

void ada_calls_found(struct ada_budget *budget, size_t functions, size_t calls)
{
	struct ada_budget *parent = budget->provider->parent ? budget->provider->parent->budget : NULL;

	/* A child of another kind, which has let go of little, says nothing of the others. */
	if (parent && functions > parent->lines.count / 2)
		parent->heirs_find_few = calls <= CALLS_FEW;
}

int ada_budget_open(struct ada_budget **result, struct ada_provider *provider, bool ended)
{
	struct ada_budget *budget = calloc(1, sizeof *budget);
	const struct ada_trace_options *options = provider->recorder->options;

	*result = NULL;
	if (!budget)
		return -ENOMEM;
	budget->provider = provider;
	budget->decider.budget = options->budget;
	budget->start_ns = ada_clock_boottime_ns();
	budget->random = budget->start_ns | 1;
	budget->settling = true;
	budget->pace = ADA_PACE_FIRST;
	/* Where the memory isn't to be had no hook is ever taken out, and the first try says why. */
	budget->text.memory = -1;
	if (!ended && ada_text_open(&budget->text, provider) == -EAGAIN) {
		free(budget);
		return -EAGAIN;
	}
	inherit(budget);
	if (provider->parent && provider->parent->budget) {
		provider->parent->budget->children++;
		provider->parent->budget->heirs_changed = true; /* by what the first one let go of, once there is a second */
	}
	*result = budget;
	return 0;
}

void ada_budget_free(struct ada_budget *budget)
{
	if (!budget)
		return;
	for (size_t i = 0; i < budget->lines.count; i++)
		ada_array_free(&budget->lines.items[i].words.items);
	ada_array_free(&budget->lines);
	ada_array_free(&budget->functions);
	ada_table_free(&budget->by_id);
	ada_text_close(&budget->text);
	free(budget);
}
