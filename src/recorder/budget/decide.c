#include "recorder/budget/decide.h"
#include <stdlib.h>
#include <sys/param.h>

/* Of the CPU time: a cost that leaves less for the program itself is that of events drained late, or their price is too high. */
#define OWN_LEAST 0.1
#define PAUSE_GROWS 4
#define TRIAL_GROWS 4
#define FEW 8	    /* events in a look, that don't say how often a function is called: some are called once */
#define TAIL 0.02   /* of the budget: the cheapest that together cost no more stay, for to let go of them changes nothing */
#define SEVERAL 8   /* that came back: so many say something of the others */
#define DEARER 1.25 /* times what they were thought to cost: looks differ by a fifth */
#define DEARER_MOST 4
#define INNER_WEIGHT 0.5 /* what a function says that calls others is worth twice as much */

static int compare_choices(const void *left, const void *right)
{
	const struct ada_choice *a = left, *b = right;

	return (a->weight < b->weight) - (a->weight > b->weight);
}

void ada_choices_sort(struct ada_choice *choices, size_t count)
{
	if (count)
		qsort(choices, count, sizeof *choices, compare_choices);
}

static double cost_of(const struct ada_budget_look *look, const struct ada_budget_function *function)
{
	return ((double)function->events * look->event_ns + (double)function->objects * look->object_ns) * (1 + look->unseen);
}

/* The shares of what is in. A function that made no events keeps half of what it was thought to cost, for a look is short. */
static double measure(const struct ada_budget_look *look, struct ada_budget_function *functions, size_t count)
{
	double cost_ns = 0, own_ns = (double)look->cpu_ns, most_ns = own_ns * (1 - OWN_LEAST), sum = 0, scale;

	for (size_t i = 0; i < count; i++)
		cost_ns += cost_of(look, &functions[i]);
	scale = cost_ns > most_ns ? most_ns / cost_ns : 1;
	own_ns -= cost_ns * scale;
	for (size_t i = 0; i < count; i++) {
		struct ada_budget_function *function = &functions[i];
		double share = cost_of(look, function) * scale / own_ns;

		if (function->out && function->filters) /* what has to wait costs on; its share is that of all its calls */
			sum += share;
		if (function->out)
			continue; /* what still comes are ends of calls that were open */
		function->share = share > 0 ? share : function->share / 2;
		sum += share;
	}
	return sum;
}

void ada_decide_left(struct ada_budget_function *function, uint64_t now_ns)
{
	uint64_t pause = function->pause_ns ? function->pause_ns * PAUSE_GROWS : ADA_BUDGET_PAUSE_NS;

	function->out = true;
	function->pause_ns = pause < ADA_BUDGET_PAUSE_MAX_NS ? pause : ADA_BUDGET_PAUSE_MAX_NS;
	function->back_ns = now_ns + function->pause_ns;
}

void ada_decide_stays(struct ada_budget_function *function, uint64_t now_ns)
{
	if (function->back_ns < now_ns + ADA_BUDGET_PAUSE_NS)
		function->back_ns = now_ns + ADA_BUDGET_PAUSE_NS;
}

/* Dearest first, leaves before others. */
static void take_out(const struct ada_decider *decider, struct ada_budget_function *functions, size_t count, struct ada_choice *choices)
{
	double sum = decider->cost, rest = 0;
	size_t chosen = 0;

	for (size_t i = 0; i < count; i++) {
		if (functions[i].out || functions[i].fixed || functions[i].events <= FEW)
			continue;
		rest += functions[i].share;
		choices[chosen++] = (struct ada_choice){ &functions[i],
							 functions[i].share * (INNER_WEIGHT + (1 - INNER_WEIGHT) * functions[i].leaves) };
	}
	ada_choices_sort(choices, chosen);
	for (size_t i = 0; i < chosen && sum > decider->budget * ADA_BUDGET_HIGH && rest > decider->budget * TAIL; i++) {
		choices[i].function->verdict = ADA_VERDICT_LEAVE;
		sum -= choices[i].function->share;
		rest -= choices[i].function->share;
	}
}

double ada_decide_trifle(double budget, const struct ada_budget_function *functions, size_t count)
{
	struct ada_choice *choices = calloc(count + 1, sizeof *choices);
	double sum = 0, trifle = 0;
	size_t chosen = 0;

	for (size_t i = 0; choices && i < count; i++)
		if (functions[i].out)
			choices[chosen++] = (struct ada_choice){ NULL, functions[i].share };
	if (choices)
		ada_choices_sort(choices, chosen);
	while (chosen && (sum += choices[--chosen].weight) <= budget * TAIL)
		trifle = choices[chosen].weight;
	free(choices);
	return trifle;
}

/* Those that fit, cheapest first; where none does, the cheapest on trial. */
static void bring_back(struct ada_decider *decider, const struct ada_budget_look *look, struct ada_budget_function *functions, size_t count,
		       struct ada_choice *choices)
{
	double sum = decider->cost;
	bool room = sum < decider->budget * ADA_BUDGET_LOW;
	size_t chosen = 0, done;

	if (!room && look->now_ns < decider->trial_ns)
		return;
	for (size_t i = 0; i < count; i++)
		if (functions[i].out && !functions[i].fixed && look->now_ns >= functions[i].back_ns)
			choices[chosen++] = (struct ada_choice){ &functions[i], -functions[i].share };
	ada_choices_sort(choices, chosen);
	for (done = 0; done < chosen && room && sum + choices[done].function->share < decider->budget * ADA_BUDGET_HIGH; done++) {
		choices[done].function->verdict = ADA_VERDICT_RETURN;
		sum += choices[done].function->share;
	}
	if (done || !chosen || look->now_ns < decider->trial_ns)
		return;
	choices[0].function->verdict = ADA_VERDICT_RETURN;
	/* One that fitted makes the next come sooner. */
	decider->trial_gap_ns = MAX(decider->trial_gap_ns / 2, ADA_BUDGET_TRIAL_NS);
	decider->trial_ns = look->now_ns + (room ? ADA_BUDGET_TRIAL_NS : decider->trial_gap_ns);
}

void ada_decide_returned(struct ada_decider *decider, struct ada_budget_function *function, uint64_t now_ns)
{
	function->out = false;
	function->tried = true;
	function->was = function->share;
	decider->returned_ns = decider->spared_ns = now_ns;
}

/* What is remembered was reckoned with the price of its time. */
static void follow_price(struct ada_decider *decider, const struct ada_budget_look *look, struct ada_budget_function *functions,
			 size_t count)
{
	double by = decider->event_ns > 0 ? look->event_ns / decider->event_ns : 1;

	decider->event_ns = look->event_ns;
	for (size_t i = 0; i < count; i++) {
		functions[i].share *= by;
		functions[i].was *= by;
	}
}

/* Those that are out and were never tried cost as much more than was thought as those that came back. */
static void learn_from_returned(struct ada_decider *decider, struct ada_budget_function *functions, size_t count)
{
	double dearer;

	for (size_t i = 0; i < count; i++) {
		if (!functions[i].out && functions[i].was > 0) {
			decider->judged_was += functions[i].was;
			decider->judged_is += functions[i].share;
			decider->judged++;
		}
		functions[i].was = 0;
	}
	if (decider->judged < SEVERAL)
		return;
	dearer = decider->judged_is / decider->judged_was;
	decider->judged = 0;
	decider->judged_was = decider->judged_is = 0;
	if (dearer < DEARER)
		return;
	for (size_t i = 0; i < count; i++)
		if (functions[i].out && !functions[i].tried)
			functions[i].share *= dearer < DEARER_MOST ? dearer : DEARER_MOST;
}

static void judge_returns(struct ada_decider *decider, uint64_t now_ns)
{
	uint64_t longer = decider->rest_ns ? 2 * decider->rest_ns : ADA_BUDGET_REST_NS;
	bool proved = now_ns >= decider->returned_ns + ADA_BUDGET_PROOF_NS;

	if (!decider->returned_ns || (!proved && decider->cost <= decider->budget * ADA_BUDGET_RELAPSE))
		return;
	decider->returned_ns = 0;
	if (proved) {
		decider->rest_ns /= 2;
		return;
	}
	decider->rest_ns = longer < ADA_BUDGET_REST_MAX_NS ? longer : ADA_BUDGET_REST_MAX_NS;
	decider->rested_ns = now_ns + decider->rest_ns;
}

/* Whoever has stayed in for as long as it would be kept out is trusted again. */
static void forgive(const struct ada_budget_look *look, struct ada_budget_function *functions, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct ada_budget_function *function = &functions[i];

		function->verdict = ADA_VERDICT_STAY;
		if (!function->out && function->pause_ns && look->now_ns >= function->back_ns + function->pause_ns)
			function->pause_ns = 0;
	}
}

void ada_decide(struct ada_decider *decider, const struct ada_budget_look *look, struct ada_budget_function *functions, size_t count)
{
	struct ada_choice *choices;

	decider->spared_ns = decider->spared_ns ? decider->spared_ns : look->now_ns;
	forgive(look, functions, count);
	follow_price(decider, look, functions, count);
	decider->cost = measure(look, functions, count);
	learn_from_returned(decider, functions, count);
	judge_returns(decider, look->now_ns);
	for (size_t i = 0; i < count; i++)
		if (functions[i].out && functions[i].fixed)
			functions[i].verdict = ADA_VERDICT_RETURN;
	choices = calloc(count + 1, sizeof *choices);
	if (choices && decider->cost > decider->budget) {
		take_out(decider, functions, count, choices);
		decider->trial_gap_ns = MIN(MAX(decider->trial_gap_ns, ADA_BUDGET_TRIAL_NS) * TRIAL_GROWS, ADA_BUDGET_REST_MAX_NS);
		decider->trial_ns = look->now_ns + decider->trial_gap_ns;
	}
	if (choices && decider->cost < decider->budget * ADA_BUDGET_HIGH && look->now_ns >= decider->rested_ns &&
	    (!look->spares || look->now_ns >= decider->spared_ns + ADA_BUDGET_REST_MAX_NS))
		bring_back(decider, look, functions, count, choices);
	free(choices);
}
