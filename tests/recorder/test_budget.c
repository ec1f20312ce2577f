/* Which hooks a budget leaves in: made-up programs, of which each function makes its calls per ns of the program's own time, whatever else
 * is recorded; looked at every 100 ms. */
#include "../test.h"

#include "recorder/budget/decide.h"
#include "recorder/budget/lines.h"
#include "recorder/budget/spans.h"
#include "recorder/state/provider.h"

#define LOOK_NS 100000000ull
#define SECOND (1000000000ull / LOOK_NS)
#define EVENT_NS 20.0
#define FUNCTIONS 100u

struct world {
	bool spares;
	struct ada_decider decider;
	struct ada_budget_function functions[FUNCTIONS];
	double shares[FUNCTIONS]; /* what each costs while its hook is in */
	size_t count;
	uint64_t now_ns;
	unsigned left, returned; /* changes so far */
};

static double cost_of(const struct world *world)
{
	double cost = 0;

	for (size_t i = 0; i < world->count; i++)
		cost += world->functions[i].out ? 0 : world->shares[i];
	return cost;
}

/* One look: the process has a CPU for itself, and each verdict is done at once. */
static void turn(struct world *world)
{
	double own_ns = (double)LOOK_NS / (1 + cost_of(world));
	struct ada_budget_look look = {
		.now_ns = world->now_ns += LOOK_NS, .cpu_ns = LOOK_NS, .event_ns = EVENT_NS, .spares = world->spares
	};

	for (size_t i = 0; i < world->count; i++)
		world->functions[i].events = world->functions[i].out ? 0 : (uint64_t)(world->shares[i] * own_ns / EVENT_NS);
	ada_decide(&world->decider, &look, world->functions, world->count);
	for (size_t i = 0; i < world->count; i++) {
		struct ada_budget_function *function = &world->functions[i];

		if (function->verdict == ADA_VERDICT_LEAVE) {
			assert_false(function->out || function->fixed);
			ada_decide_left(function, world->now_ns);
			world->left++;
		} else if (function->verdict == ADA_VERDICT_RETURN) {
			assert_true(function->out);
			ada_decide_returned(&world->decider, function, world->now_ns);
			world->returned++;
		}
	}
}

static void run(struct world *world, uint64_t turns)
{
	for (uint64_t i = 0; i < turns; i++)
		turn(world);
}

/* A few dear functions and many cheap ones, like an interpreter's: 900 % in all. */
static struct world interpreter(void)
{
	struct world world = { .decider.budget = 0.05, .count = FUNCTIONS };

	for (size_t i = 0; i < FUNCTIONS; i++)
		world.shares[i] = 6.0 / (double)(1ull << (i < 25 ? 2 * i : 50)) + 0.00001;
	return world;
}

static void settles_at_once_and_stays(void **state)
{
	struct world world = interpreter();
	unsigned left;

	turn(&world);
	assert_true(world.left > 0);
	assert_true(cost_of(&world) < 0.05);
	left = world.left;
	run(&world, 4 * SECOND);
	assert_int_equal(world.left, left);
	assert_int_equal(world.returned, 0);
}

static void cheap_programs_lose_nothing(void **state)
{
	struct world world = { .decider.budget = 0.05, .count = 10 };

	for (size_t i = 0; i < 10; i++)
		world.shares[i] = 0.0049;
	run(&world, 60 * SECOND);
	assert_int_equal(world.left, 0);
}

/* Over ten minutes: trials cost less than a hundredth, and grow rare. */
static void trials_are_cheap(void **state)
{
	struct world world = interpreter();
	double over = 0;
	unsigned early = 0, late = 0;

	for (uint64_t i = 0; i < 600 * SECOND; i++) {
		turn(&world);
		over += cost_of(&world) > 0.05 ? cost_of(&world) : 0;
		if (i == 60 * SECOND)
			early = world.returned;
		if (i == 540 * SECOND)
			late = world.returned;
	}
	assert_true(over / (double)(600 * SECOND) < 0.05);
	assert_true(early > 0 && world.returned - late < early);
}

/* A server that was seen to start, and serves since: of what is in, nothing is called any more, and what is out costs twice as much. It has
 * less to do for a moment now and then. What a few show that return holds for all the others: they don't come each for itself, to go again. */
static void a_few_show_what_the_others_cost(void **state)
{
	struct world world = { .decider.budget = 0.05, .count = FUNCTIONS };
	unsigned settled = 0;

	for (size_t i = 0; i < FUNCTIONS; i++)
		world.shares[i] = i < 20 ? 0.0018 : 0.006;
	turn(&world);
	assert_in_range(world.left, 79, 80);
	for (uint64_t i = 0; i < 180 * SECOND; i++) {
		bool moment = i % (3 * SECOND) == 0;

		for (size_t f = 20; f < FUNCTIONS; f++)
			world.shares[f] = moment ? 0.007 : 0.012;
		for (size_t f = 0; f < 20; f++)
			world.shares[f] = 0;
		turn(&world);
		if (i == 30 * SECOND)
			settled = world.returned;
	}
	assert_in_range(settled, 1, 20);
	assert_in_range(world.returned - settled, 0, 10);
}

/* Most of the budget is used, and what is out doesn't fit: to try it is worth less each time that it fails. */
static void trials_for_little_grow_rare(void **state)
{
	struct world world = { .decider.budget = 0.05, .count = FUNCTIONS };

	for (size_t i = 0; i < FUNCTIONS; i++)
		world.shares[i] = i < 10 ? 0.0035 : 0.02;
	run(&world, 5 * SECOND);
	assert_int_equal(world.left, 90);
	run(&world, 120 * SECOND);
	assert_in_range(world.returned, 2, 10);
}

/* What is out is reckoned with the price of its time. */
static void shares_follow_the_price(void **state)
{
	struct ada_budget_function functions[2] = { { .out = true, .share = 0.01, .back_ns = UINT64_MAX }, { .events = 1000 } };
	struct ada_budget_look look = { .now_ns = 1, .cpu_ns = LOOK_NS, .event_ns = EVENT_NS };
	struct ada_decider decider = { .budget = 0.05 };

	ada_decide(&decider, &look, functions, 2);
	assert_true(functions[0].share == 0.01);
	look.event_ns = 3 * EVENT_NS;
	ada_decide(&decider, &look, functions, 2);
	assert_true(functions[0].share > 0.0299 && functions[0].share < 0.0301);
}

/* A server that was seen to start: what is out costs a hundred times what it did when it went. Over ten minutes it costs too much for a
 * hundredth of the time, and little comes and goes. */
static void who_relapses_rests(void **state)
{
	struct world world = { .decider.budget = 0.05, .count = FUNCTIONS };
	unsigned over = 0, late = 0;

	for (size_t i = 0; i < FUNCTIONS; i++)
		world.shares[i] = 0.002;
	turn(&world);
	assert_true(world.left > 0);
	for (size_t i = 0; i < FUNCTIONS; i++)
		world.shares[i] = world.functions[i].out ? 0.2 : 0.0002;
	for (uint64_t i = 0; i < 600 * SECOND; i++) {
		turn(&world);
		over += cost_of(&world) > 0.05;
		if (i == 60 * SECOND)
			late = world.returned;
	}
	assert_in_range(over, 1, 6 * SECOND);
	assert_in_range(world.returned - late, 1, 60);
	for (size_t i = 0; i < FUNCTIONS; i++)
		world.shares[i] = 0.0002;
	run(&world, 360 * SECOND); /* the longest pause, and a rest */
	for (size_t i = 0; i < FUNCTIONS; i++)
		assert_false(world.functions[i].out);
}

/* More was let go of than had to be, for it seemed dearer then; what is out, all together, costs a little more than there is room for. It comes
 * back one at a time, though each in its turn may be one too many. */
static void who_does_not_quite_fit_is_no_relapse(void **state)
{
	struct world world = { .decider.budget = 0.05, .count = 30 };
	size_t out = 0;

	for (size_t i = 0; i < world.count; i++)
		world.shares[i] = 0.02;
	turn(&world);
	for (size_t i = 0; i < world.count; i++)
		world.shares[i] = world.functions[i].out ? 0.0015 : 0.01;
	run(&world, 60 * SECOND);
	assert_int_equal(world.decider.rest_ns, 0);
	for (size_t i = 0; i < world.count; i++)
		out += world.functions[i].out;
	assert_in_range(out, 1, 20);
}

static void they_return_when_their_rate_falls(void **state)
{
	struct world world = interpreter();

	run(&world, 2 * SECOND);
	assert_true(world.functions[0].out);
	for (size_t i = 0; i < FUNCTIONS; i++)
		world.shares[i] /= 1000;
	run(&world, 120 * SECOND);
	for (size_t i = 0; i < FUNCTIONS; i++)
		assert_false(world.functions[i].out);
}

/* As long as the machine is full nothing returns for a minute; then one tries, and the next one a minute later. */
static void text_that_is_shared_is_spared(void **state)
{
	struct world world = interpreter();

	world.spares = true;
	run(&world, 2 * SECOND);
	assert_true(world.functions[0].out);
	for (size_t i = 0; i < FUNCTIONS; i++)
		world.shares[i] /= 1000;
	run(&world, 57 * SECOND);
	assert_int_equal(world.returned, 0);
	run(&world, 2 * SECOND);
	assert_int_equal(world.returned, 1);
	run(&world, 57 * SECOND);
	assert_int_equal(world.returned, 1);
	world.spares = false;
	run(&world, 60 * SECOND);
	for (size_t i = 0; i < FUNCTIONS; i++)
		assert_false(world.functions[i].out);
}

static void what_is_fixed_stays(void **state)
{
	struct world world = interpreter();

	world.functions[0].fixed = true;
	run(&world, 10 * SECOND);
	assert_false(world.functions[0].out);
	assert_true(world.functions[1].out);
	world.functions[1].fixed = true; /* a rule has come to name it */
	turn(&world);
	assert_false(world.functions[1].out);
}

/* A rule names what costs far more than the budget: to let go of the rest changes little, and what is small says more than it costs. */
static void what_costs_next_to_nothing_stays(void **state)
{
	struct world world = { .decider.budget = 0.05, .count = 22, .shares = { 0.3, 0.5 } };

	world.functions[0].fixed = true;
	for (size_t i = 2; i < world.count; i++)
		world.shares[i] = 0.00004;
	run(&world, 10 * SECOND);
	assert_true(world.functions[1].out);
	for (size_t i = 2; i < world.count; i++)
		assert_false(world.functions[i].out);
}

/* Where what must stay costs more than the budget by itself, nothing is gained by what is called once. */
static void what_is_called_once_stays(void **state)
{
	struct world world = { .decider.budget = 0.05, .count = 3, .shares = { 1, 0.01, 0.00002 } };

	world.functions[0].fixed = true;
	turn(&world);
	assert_true(world.functions[1].out);
	assert_false(world.functions[2].out);
}

/* Of what a run let go of, the next one lets go at once, but for the cheapest. */
static void trifles_are_not_remembered(void **state)
{
	struct ada_budget_function functions[] = { { .out = true, .share = 0.5 },     { .share = 0.00001 },
						   { .out = true, .share = 0.00048 }, { .out = true, .share = 0.0005 },
						   { .out = true, .share = 0.0006 },  { .out = true, .share = 0.00001 } };

	assert_true(ada_decide_trifle(0.05, functions, 6) == 0.0005);
	assert_true(ada_decide_trifle(0.05, functions, 1) == 0);
	assert_true(ada_decide_trifle(0.05, functions, 0) == 0);
}

/* In a look of 5 ms two calls seem to be 400 a second. */
static void a_few_calls_prove_nothing(void **state)
{
	struct world world = { .decider.budget = 0.01, .count = FUNCTIONS };
	const struct ada_budget_look look = { .now_ns = LOOK_NS, .cpu_ns = 5000000, .event_ns = EVENT_NS };

	world.functions[0] = (struct ada_budget_function){ .events = 50000, .fixed = true };
	for (size_t i = 1; i < world.count; i++)
		world.functions[i].events = i % 2 ? 4 : 400;
	ada_decide(&world.decider, &look, world.functions, world.count);
	for (size_t i = 1; i < world.count; i++)
		if (i % 2)
			assert_int_equal(world.functions[i].verdict, ADA_VERDICT_STAY);
		else
			world.left += world.functions[i].verdict == ADA_VERDICT_LEAVE;
	assert_in_range(world.left, 40, 49);
}

/* Of two that cost the same the one that calls nothing goes. */
static void leaves_go_first(void **state)
{
	struct world world = { .decider.budget = 0.05, .count = 2, .shares = { 0.04, 0.035 } };

	world.functions[1].leaves = 1;
	turn(&world);
	assert_true(world.functions[1].out);
	assert_false(world.functions[0].out);
}

/* More than the whole time, by the estimate: still something is the program's own. */
static void estimates_may_be_wrong(void **state)
{
	struct world world = { .decider.budget = 0.05, .count = 1 };
	struct ada_budget_look look = { .now_ns = 1, .cpu_ns = 1000, .event_ns = 100, .unseen = 3 };

	world.functions[0].events = 1000;
	ada_decide(&world.decider, &look, world.functions, 1);
	assert_int_equal(world.functions[0].verdict, ADA_VERDICT_LEAVE);
	assert_true(world.decider.cost > 1);
}

/* One function costs six times what the program takes for itself, and twenty cost little. Events are thought to cost two and a half times what
 * they do, so more than there was time for: what the program took for itself can't be said, and what little costs little. */
static void a_price_too_high_leaves_the_cheap_ones_in(void **state)
{
	struct world world = { .decider.budget = 0.5, .count = 21 };
	struct ada_budget_look look = { .now_ns = LOOK_NS, .cpu_ns = LOOK_NS, .event_ns = 2.5 * EVENT_NS };

	for (size_t i = 0; i < world.count; i++)
		world.functions[i].events = (uint64_t)((i ? 0.006 : 6) * (double)LOOK_NS / 7.12 / EVENT_NS);
	ada_decide(&world.decider, &look, world.functions, world.count);
	assert_int_equal(world.functions[0].verdict, ADA_VERDICT_LEAVE);
	for (size_t i = 1; i < world.count; i++)
		assert_int_equal(world.functions[i].verdict, ADA_VERDICT_STAY);
}

/* Locks: as many calls as another function's, but each with an event that is dearer than both of its others. */
static void objects_have_a_price_of_their_own(void **state)
{
	struct ada_budget_look look = { .now_ns = 1, .cpu_ns = 1000000, .event_ns = 10, .object_ns = 100 };
	struct world world = { .decider.budget = 10, .count = 2 };

	world.functions[0].events = world.functions[1].events = 2000;
	world.functions[1].objects = 1000;
	ada_decide(&world.decider, &look, world.functions, 2);
	assert_true(world.functions[1].share > 5.9 * world.functions[0].share && world.functions[1].share < 6.1 * world.functions[0].share);
}

/* The more threads there are, and the slower they and writing were before, the less is read in a stop. */
/* What is recorded of a filtered function's calls costs on: others make room for that. */
static void what_a_filter_lets_through_costs(void **state)
{
	struct ada_budget_function functions[2] = { { .events = 1000000, .filters = true }, { .events = 30000 } };
	struct ada_budget_look look = { .now_ns = LOOK_NS, .cpu_ns = LOOK_NS, .event_ns = EVENT_NS };
	struct ada_decider decider = { .budget = 0.05 };
	double share;

	ada_decide(&decider, &look, functions, 2);
	assert_int_equal(functions[0].verdict, ADA_VERDICT_LEAVE);
	ada_decide_left(&functions[0], look.now_ns);
	share = functions[0].share;
	look.now_ns += LOOK_NS;
	functions[0].events = 300000; /* so many have to wait */
	ada_decide(&decider, &look, functions, 2);
	assert_true(decider.cost > 0.04 && functions[0].share == share);
	assert_int_equal(functions[0].verdict, ADA_VERDICT_STAY);
	assert_int_equal(functions[1].verdict, ADA_VERDICT_LEAVE);
	functions[0].filters = false; /* ends of calls that were open */
	ada_decide(&decider, &look, functions, 2);
	assert_true(decider.cost < 0.02);
}

static void a_stop_leaves_time_for_what_comes_behind(void **state)
{
	struct ada_pace pace = { .thread_ns = 10000, .writing = 1 };

	assert_int_equal(ada_pace_reads_until(&pace, 0, 1000000, 5000000), 3000000);
	assert_int_equal(ada_pace_reads_until(&pace, 100, 1000000, 5000000), 2500000);
	assert_int_equal(ada_pace_reads_until(&pace, 1000, 1000000, 5000000), 0);
	assert_int_equal(ada_pace_reads_until(&pace, 0, 5000000, 5000000), 0);
	assert_int_equal(ada_pace_writes_until(&pace, 100, 5000000), 4000000);
	assert_int_equal(ada_pace_writes_until(&pace, 1000, 5000000), 0);
	ada_pace_note(&pace, 100, 1000, 3000, 100 * 15000);
	assert_true(pace.thread_ns == 15000 && pace.writing == 2); /* held up once: no more than twice as slow */
	ada_pace_note(&pace, 100, 1000, 2000, 100 * 7000);
	assert_true(pace.thread_ns == 14000 && pace.writing == 2);
	ada_pace_note(&pace, 0, 0, 0, 0); /* nothing was held */
	assert_true(pace.thread_ns == 14000 && pace.writing == 2);
}

/* --- what a parent takes from its children ------------------------------------------------------------------------------- */

/* A function's patch, and calls from these places on. */
static struct ada_budget_line line_of(uint64_t first, uint64_t end)
{
	struct ada_budget_line line = { .found = true, .words = { .patch = true } };

	assert_int_equal(ada_array_push(&line.words.items, ((struct ada_word){ .at = 100, .bytes = 5 })), 0);
	for (uint64_t at = first; at < end; at++)
		assert_int_equal(ada_array_push(&line.words.items, ((struct ada_word){ .at = 1000 * at, .bytes = 4 })), 0);
	return line;
}

static void expect_words(const struct ada_budget_line *line, const uint64_t *places, size_t count)
{
	assert_int_equal(line->words.items.count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(line->words.items.items[i].at, places[i]);
}

/* Its own calls are out; those of its children, which it never made, go out from there on, and no word goes out twice. */
static void a_parent_takes_its_childrens_calls_from_it(void **state)
{
	struct ada_budget_line parent = line_of(1, 3), one = line_of(1, 5), other = line_of(4, 6), none = { .found = false };

	ada_budget_merge_words(&parent, &none, NULL);
	ada_budget_merge_words(&parent, &parent, NULL);
	assert_int_equal(parent.unfinished, ADA_VERDICT_STAY);
	ada_budget_merge_words(&parent, &one, NULL);
	expect_words(&parent, (const uint64_t[]){ 100, 1000, 2000, 3000, 4000 }, 5);
	assert_int_equal(parent.unfinished, ADA_VERDICT_LEAVE);
	assert_int_equal(parent.reached, 3);
	ada_budget_merge_words(&parent, &other, NULL); /* before the stop: it begins where it did */
	expect_words(&parent, (const uint64_t[]){ 100, 1000, 2000, 3000, 4000, 5000 }, 6);
	assert_int_equal(parent.reached, 3);
	parent.unfinished = ADA_VERDICT_STAY;
	ada_budget_merge_words(&parent, &one, NULL);
	ada_budget_merge_words(&parent, &other, NULL);
	assert_int_equal(parent.unfinished, ADA_VERDICT_STAY);
	ada_array_free(&parent.words.items);
	ada_array_free(&one.words.items);
	ada_array_free(&other.words.items);
}

/* Slots are data, which the parent's loader fills; and who comes back just now takes nothing. */
static void a_parent_takes_no_slots_and_nothing_on_its_way_back(void **state)
{
	struct ada_budget_line parent = line_of(1, 3), child = line_of(1, 4);

	assert_int_equal(ada_array_push(&child.words.items, ((struct ada_word){ .at = 77, .bytes = 8 })), 0);
	parent.unfinished = ADA_VERDICT_RETURN;
	ada_budget_merge_words(&parent, &child, NULL);
	assert_int_equal(parent.words.items.count, 3);
	parent.unfinished = ADA_VERDICT_STAY;
	ada_budget_merge_words(&parent, &child, NULL);
	expect_words(&parent, (const uint64_t[]){ 100, 1000, 2000, 3000 }, 4);
	ada_array_free(&parent.words.items);
	ada_array_free(&child.words.items);
}

/* To look for calls that were made late takes long: where a child of the same kind found none its siblings do so later. */
static void siblings_look_later_where_one_found_nothing(void **state)
{
	struct ada_budget_line lines[100];
	struct ada_provider providers[3] = { { .pid = 1 }, { .pid = 2, .parent = &providers[0] }, { .pid = 3, .parent = &providers[0] } };
	struct ada_budget parent = { .provider = &providers[0], .lines = { .items = lines, .count = 100 } };
	struct ada_budget child = { .provider = &providers[1] }, sibling = { .provider = &providers[2] };
	uint64_t soon;

	providers[0].budget = &parent;
	soon = ada_calls_age(&sibling);
	ada_calls_found(&child, 90, 500);
	assert_true(ada_calls_age(&sibling) == soon);
	ada_calls_found(&child, 10, 0); /* it has let go of little: another kind */
	assert_true(ada_calls_age(&sibling) == soon);
	ada_calls_found(&child, 90, 3);
	assert_true(ada_calls_age(&sibling) == 4 * soon);
	assert_true(ada_calls_age(&parent) == soon);
	ada_calls_found(&child, 90, 500); /* they do other things than before */
	assert_true(ada_calls_age(&sibling) == soon);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(settles_at_once_and_stays),
		cmocka_unit_test(a_parent_takes_its_childrens_calls_from_it),
		cmocka_unit_test(siblings_look_later_where_one_found_nothing),
		cmocka_unit_test(a_parent_takes_no_slots_and_nothing_on_its_way_back),
		cmocka_unit_test(cheap_programs_lose_nothing),
		cmocka_unit_test(trials_are_cheap),
		cmocka_unit_test(a_few_show_what_the_others_cost),
		cmocka_unit_test(trials_for_little_grow_rare),
		cmocka_unit_test(shares_follow_the_price),
		cmocka_unit_test(who_relapses_rests),
		cmocka_unit_test(who_does_not_quite_fit_is_no_relapse),
		cmocka_unit_test(a_price_too_high_leaves_the_cheap_ones_in),
		cmocka_unit_test(they_return_when_their_rate_falls),
		cmocka_unit_test(text_that_is_shared_is_spared),
		cmocka_unit_test(what_is_fixed_stays),
		cmocka_unit_test(what_is_called_once_stays),
		cmocka_unit_test(a_few_calls_prove_nothing),
		cmocka_unit_test(trifles_are_not_remembered),
		cmocka_unit_test(leaves_go_first),
		cmocka_unit_test(what_a_filter_lets_through_costs),
		cmocka_unit_test(a_stop_leaves_time_for_what_comes_behind),
		cmocka_unit_test(what_costs_next_to_nothing_stays),
		cmocka_unit_test(estimates_may_be_wrong),
		cmocka_unit_test(objects_have_a_price_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
