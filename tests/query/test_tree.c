/* Call trees and edges: known ones, and what they must add up to: the statistics, on whatever a thread may hold. */
#include <errno.h>
#include <signal.h>
#include "base/interrupt.h"
#include "fixture.h"
#include "query/edges.h"
#include "query/tree.h"
#include "synth_random.h"
#include "tree_text.h"

static const char *const names[] = { "main", "a", "b", "leaf", "open" };
enum { MAIN, A, B, LEAF, OPEN, NAMES };

static struct synth_thread *one_thread(struct fixture *fixture)
{
	synth_process(fixture->synth, 10);
	synth_module(fixture->synth, "/bin/prog", names, NAMES);
	return synth_thread(fixture->synth, 10, "prog");
}

static void leaf(struct synth_thread *thread, uint64_t id, uint64_t ns)
{
	synth_call(thread, id);
	synth_pass(thread, ns);
	synth_return(thread);
}

static struct ada_tree compute_tree(const struct fixture *fixture, unsigned int workers)
{
	struct ada_error error = {};
	struct ada_tree tree;

	if (ada_tree_compute(&tree, &fixture->selection, workers, &error))
		fail_msg("%s", error.text);
	return tree;
}

static struct ada_edges compute_edges(const struct fixture *fixture, unsigned int workers)
{
	struct ada_error error = {};
	struct ada_edges edges;

	if (ada_edges_compute(&edges, &fixture->selection, workers, &error))
		fail_msg("%s", error.text);
	return edges;
}

static void expect(struct fixture *fixture, const char *expected)
{
	struct ada_tree tree = compute_tree(fixture, 1);

	tree_expect(&tree, expected);
	ada_tree_free(&tree);
}

/* --- known trees ------------------------------------------------------------------------------------------------------ */

/* main: a (b leaf 5)(leaf 7), b (leaf 9) twice */
static void paths(struct synth_thread *thread)
{
	synth_call(thread, MAIN);
	synth_call(thread, A);
	synth_call(thread, B);
	leaf(thread, LEAF, 5);
	synth_pass(thread, 1);
	synth_return(thread);
	leaf(thread, LEAF, 7);
	synth_return(thread);
	for (int i = 0; i < 2; i++) {
		synth_call(thread, B);
		leaf(thread, LEAF, 9);
		synth_return(thread);
	}
	synth_pass(thread, 100);
	synth_return(thread);
}

static void test_paths(void **state)
{
	struct fixture *fixture = *state;

	paths(one_thread(fixture));
	fixture_open(fixture, true, NULL, NULL, NULL);
	expect(fixture, "main(1 131 100 b(2 18 0 leaf(2 18 18)) a(1 13 0 leaf(1 7 7) b(1 6 1 leaf(1 5 5))))");
}

static void test_threads_and_processes_are_merged(void **state)
{
	struct fixture *fixture = *state;

	for (uint32_t i = 0; i < 3; i++) {
		synth_process(fixture->synth, 10 + i);
		synth_module(fixture->synth, "/bin/prog", names, NAMES);
		paths(synth_thread(fixture->synth, 10 + i, "prog"));
		leaf(synth_thread(fixture->synth, 20 + i, "worker"), LEAF, i);
	}
	fixture_open(fixture, true, NULL, NULL, NULL);
	for (unsigned int workers = 1; workers <= 4; workers += 3) {
		struct ada_tree tree = compute_tree(fixture, workers);

		tree_expect(&tree, "main(3 393 300 b(6 54 0 leaf(6 54 54)) a(3 39 0 leaf(3 21 21) b(3 18 3 leaf(3 15 15))))"
			    " leaf(3 3 3)");
		assert_int_equal(tree.completeness.events, 3 * (18 + 2));
		assert_true(tree.completeness.complete);
		ada_tree_free(&tree);
	}
}

static void test_groups(void **state)
{
	struct fixture *fixture = *state;
	struct ada_error error = {};
	struct ada_tree tree;

	one_thread(fixture);
	for (uint32_t i = 0; i < 3; i++)
		leaf(synth_thread(fixture->synth, 20 + i, "worker"), LEAF, 1 + i);
	fixture_open(fixture, true, NULL, NULL, NULL);
	assert_int_equal(ada_tree_compute_groups(&tree, &fixture->selection, (const uint32_t[]){ 0, 7, 8, 7 }, 2, &error), 0);
	/* The groups have no calls: by their keys. The thread without events has none. */
	assert_int_equal(tree.nodes.items[tree.nodes.items[0].first].key, ADA_TREE_GROUP | 7);
	tree_expect(&tree, "*(0 0 0 leaf(2 4 4)) *(0 0 0 leaf(1 2 2))");
	ada_tree_free(&tree);
}

static void test_recursion(void **state)
{
	struct fixture *fixture = *state;
	struct synth_thread *thread = one_thread(fixture);

	for (int i = 0; i < 3; i++) {
		synth_call(thread, A);
		synth_pass(thread, 1);
	}
	for (int i = 0; i < 3; i++)
		synth_return(thread);
	fixture_open(fixture, true, NULL, NULL, NULL);
	expect(fixture, "a(1 3 1 a(1 2 1 a(1 1 1)))");
}

/* leaf at +10, +110, ... +910 below main and a, for 60 ns each; a ends after the fifth. */
static void test_time_range_has_its_ancestors(void **state)
{
	struct fixture *fixture = *state;
	struct synth_thread *thread = one_thread(fixture);

	synth_call(thread, MAIN);
	synth_call(thread, A);
	synth_pass(thread, 10);
	for (int i = 0; i < 10; i++) {
		leaf(thread, LEAF, 60);
		synth_pass(thread, 40);
		if (i == 4)
			synth_return(thread);
	}
	synth_return(thread);
	fixture_open(fixture, true, NULL, "+300ns", "+711ns");
	expect(fixture, "main(0 0 0 a(0 0 0 leaf(2 120 120)) leaf(3 180 180))");
}

static void test_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct ada_edges edges;

	fixture_open(fixture, true, NULL, NULL, NULL);
	expect(fixture, "");
	edges = compute_edges(fixture, 0);
	assert_int_equal(edges.edges.count, 0);
	ada_edges_free(&edges);
}

static void test_a_bound(void **state)
{
	struct fixture *fixture = *state;
	struct ada_error error = {};
	struct ada_tree tree;

	paths(one_thread(fixture));
	fixture_open(fixture, true, NULL, NULL, NULL);
	assert_int_equal(ada_tree_compute_bounded(&tree, &fixture->selection, NULL, 3, 1, &error), 0);
	assert_true(tree.cut);
	/* main, a and its b have nodes; what else they call is their rests. */
	tree_expect(&tree, "main(1 131 100 *(4 18 18) a(1 13 0 *(1 7 7) b(1 6 1 *(1 5 5))))");
	ada_tree_free(&tree);
}

/* However many workers there are: what finds room is what one of them would have found. */
static void test_a_bound_with_workers(void **state)
{
	struct fixture *fixture = *state;
	struct ada_error error = {};
	struct ada_tree tree;

	one_thread(fixture);
	for (uint32_t i = 0; i < 8; i++) {
		struct synth_thread *thread = synth_thread(fixture->synth, 20 + i, "worker");

		synth_call(thread, i % 4);
		leaf(thread, i / 4 + 3, 1);
		synth_return(thread);
	}
	fixture_open(fixture, true, NULL, NULL, NULL);
	for (unsigned int workers = 1; workers <= 8; workers++) {
		assert_int_equal(ada_tree_compute_bounded(&tree, &fixture->selection, NULL, 3, workers, &error), 0);
		assert_true(tree.cut);
		tree_expect(&tree, "*(8 4 4) main(2 2 0 leaf(1 1 1) *(1 1 1)) a(2 2 0 *(2 2 2))");
		ada_tree_free(&tree);
	}
}

static void test_deep(void **state)
{
	struct fixture *fixture = *state;
	struct synth_thread *thread = one_thread(fixture);
	struct ada_tree tree;

	for (int i = 0; i < 100000; i++)
		synth_call(thread, A);
	synth_pass(thread, 9);
	fixture_open(fixture, false, NULL, NULL, NULL);
	tree = compute_tree(fixture, 1);
	assert_int_equal(tree.nodes.count, 100001);
	assert_int_equal(tree.nodes.items[100000].depth, 100000);
	assert_false(tree.completeness.complete);
	ada_tree_free(&tree);
}

/* --- known edges ------------------------------------------------------------------------------------------------------ */

static const struct ada_edge *edge_between(const struct ada_edges *edges, uint64_t caller, uint64_t callee)
{
	for (size_t i = 0; i < edges->edges.count; i++)
		if (edges->edges.items[i].caller_id == caller && edges->edges.items[i].callee_id == callee)
			return &edges->edges.items[i];
	fail_msg("no edge from %lu to %lu", caller, callee);
	return NULL;
}

static uint32_t known_number(struct ada_module *module, uint64_t function_id)
{
	char buffer[ADA_NAME_BUFFER];
	uint32_t number = 0;

	while (number < KNOWN_FUNCTIONS && (function_id == ADA_NO_FUNCTION ||
					    strcmp(known_name(number), ada_module_function(module, function_id, buffer))))
		number++;
	return number;
}

static void test_edges(void **state)
{
	struct fixture *fixture = *state;
	struct ada_edges edges;
	const struct ada_edge *edge;
	struct synth_thread *thread = one_thread(fixture);

	synth_pass(thread, 50);
	paths(thread);
	synth_roll(thread);
	thread = synth_thread(fixture->synth, 11, "late");
	synth_pass(thread, 60);
	paths(thread);
	thread = synth_thread(fixture->synth, 12, "early");
	synth_pass(thread, 50);
	paths(thread);
	fixture_open(fixture, true, NULL, NULL, NULL);
	edges = compute_edges(fixture, 2);
	assert_int_equal(edges.edges.count, 6);
	edge = edge_between(&edges, B, LEAF);
	assert_int_equal(edge->calls, 9);
	assert_int_equal(edge->total_ns, 3 * 23);
	assert_int_equal(edge->first_ns, SYNTH_START_NS + 50);
	assert_int_equal(edge->first_position, 3);
	assert_int_equal(edge->thread->tid, 10);
	edge = edge_between(&edges, ADA_NO_FUNCTION, MAIN);
	assert_int_equal(edge->calls, 3);
	assert_int_equal(edge->self_ns, 300);
	edge = edge_between(&edges, MAIN, B);
	assert_int_equal(edge->first_position, 9);
	ada_edges_free(&edges);
}

static void test_edges_count_recursion_once(void **state)
{
	struct fixture *fixture = *state;
	struct synth_thread *thread = one_thread(fixture);
	struct ada_edges edges;

	synth_call(thread, MAIN);
	for (int i = 0; i < 3; i++) {
		synth_call(thread, A);
		synth_pass(thread, 1);
	}
	for (int i = 0; i < 4; i++)
		synth_return(thread);
	fixture_open(fixture, true, NULL, NULL, NULL);
	edges = compute_edges(fixture, 1);
	assert_int_equal(edge_between(&edges, MAIN, A)->total_ns, 3);
	assert_int_equal(edge_between(&edges, A, A)->total_ns, 0);
	assert_int_equal(edge_between(&edges, A, A)->calls, 2);
	assert_int_equal(edge_between(&edges, A, A)->self_ns, 2);
	ada_edges_free(&edges);
}

static void test_edges_know_callers_from_before(void **state)
{
	struct fixture *fixture = *state;
	struct synth_thread *thread = one_thread(fixture);
	struct ada_edges edges;

	synth_call(thread, MAIN);
	synth_pass(thread, 10);
	leaf(thread, LEAF, 5);
	fixture_open(fixture, true, NULL, "+10ns", NULL);
	edges = compute_edges(fixture, 1);
	assert_int_equal(edges.edges.count, 1);
	assert_int_equal(edge_between(&edges, MAIN, LEAF)->first_position, 1);
	ada_edges_free(&edges);
}

static void test_edges_of_random_calls(void **state)
{
	struct fixture *fixture = *state;
	struct known *known = synth_random(fixture->synth, 11, 6, 20000);
	uint64_t found[KNOWN_FUNCTIONS + 1][KNOWN_FUNCTIONS] = {};
	struct ada_edges edges;

	fixture_open(fixture, true, NULL, NULL, NULL);
	edges = compute_edges(fixture, 3);
	for (size_t i = 0; i < edges.edges.count; i++) {
		const struct ada_edge *edge = &edges.edges.items[i];
		const struct ada_event *first = atf_thread_get(edge->thread->events, edge->first_position);

		found[known_number(edge->caller_module, edge->caller_id)][known_number(edge->callee_module, edge->callee_id)] +=
			edge->calls;
		assert_int_equal(first->event_kind, ADA_EVENT_CALL);
		assert_int_equal(first->function_id << 32, edge->callee_id << 32);
		assert_int_equal(first->timestamp_ns, edge->first_ns);
	}
	for (uint32_t caller = 0; caller <= KNOWN_FUNCTIONS; caller++)
		for (uint32_t callee = 0; callee < KNOWN_FUNCTIONS; callee++)
			assert_int_equal(found[caller][callee], known_edge(known, caller, callee));
	ada_edges_free(&edges);
	known_free(known);
}

/* --- sums ------------------------------------------------------------------------------------------------------------- */

static void expect_completeness(const struct ada_completeness *answer, const struct ada_completeness *expected)
{
	assert_int_equal(answer->events, expected->events);
	assert_int_equal(answer->lost, expected->lost);
	assert_int_equal(answer->complete, expected->complete);
}

static void expect_sums(struct fixture *fixture, unsigned int workers)
{
	struct ada_tree tree = compute_tree(fixture, workers);
	struct ada_edges edges = compute_edges(fixture, workers);

	fixture_compute(fixture);
	for (size_t i = 0; i < fixture->stats.functions.count; i++) {
		const struct ada_function_stats *function = fixture->stats.functions.items[i];
		struct ada_edge edge = {};
		struct ada_tree_node node = {};

		for (size_t j = 1; j < tree.nodes.count; j++) {
			const struct ada_tree_node *other = &tree.nodes.items[j];

			if (other->module != function->module || (uint32_t)other->function_id != (uint32_t)function->function_id)
				continue;
			node.calls += other->calls;
			node.unknown += other->unknown;
			node.self_ns += other->self_ns;
		}
		for (size_t j = 0; j < edges.edges.count; j++) {
			const struct ada_edge *other = &edges.edges.items[j];

			if (other->callee_module != function->module ||
			    (uint32_t)other->callee_id != (uint32_t)function->function_id)
				continue;
			edge.calls += other->calls;
			edge.unknown += other->unknown;
			edge.total_ns += other->total_ns;
			edge.self_ns += other->self_ns;
		}
		assert_int_equal(node.calls, function->calls);
		assert_int_equal(node.unknown, function->unknown);
		assert_int_equal(node.self_ns, function->self_ns);
		assert_int_equal(edge.calls, function->calls);
		assert_int_equal(edge.unknown, function->unknown);
		assert_int_equal(edge.total_ns, function->total_ns);
		assert_int_equal(edge.self_ns, function->self_ns);
	}
	expect_completeness(&tree.completeness, &fixture->stats.completeness);
	expect_completeness(&edges.completeness, &fixture->stats.completeness);
	ada_tree_free(&tree);
	ada_edges_free(&edges);
	ada_stats_free(&fixture->stats);
}

/* The whole, and parts of it. */
static void expect_all_sums(struct fixture *fixture, uint64_t end_ns)
{
	fixture_open(fixture, true, NULL, NULL, NULL);
	expect_sums(fixture, 1);
	for (unsigned int i = 0; i < 8; i++) {
		fixture->selection.from_ns = SYNTH_START_NS + end_ns * i / 10;
		fixture->selection.to_ns = SYNTH_START_NS + end_ns * (i + 1 + i % 3) / 10;
		expect_sums(fixture, 1 + i % 3);
	}
}

static void test_sums_of_random_calls(void **state)
{
	struct fixture *fixture = *state;
	struct known *known = synth_random(fixture->synth, 42, 5, 20000);
	uint64_t end_ns = 0;

	for (size_t i = 0; i < known->times.count; i++)
		if (known->times.items[i] - SYNTH_START_NS > end_ns)
			end_ns = known->times.items[i] - SYNTH_START_NS;
	expect_all_sums(fixture, end_ns);
	known_free(known);
}

/* What no program does: any event behind any other, with losses; as fibers, longjmp and damaged files look. */
static void test_sums_of_chaos(void **state)
{
	struct fixture *fixture = *state;
	uint64_t random = 12345;

	for (uint32_t process = 0; process < 2; process++) {
		synth_process(fixture->synth, 10 + process);
		synth_module(fixture->synth, process ? "/bin/other" : "/bin/prog", names, NAMES);
		for (uint32_t i = 0; i < 3; i++) {
			struct synth_thread *thread = synth_thread(fixture->synth, 10 + 10 * i + process, "prog");
			uint32_t depth = 0;

			for (int j = 0; j < 5000; j++) {
				uint32_t kind;

				random = random * 6364136223846793005u + 1442695040888963407u;
				kind = random >> 60;
				synth_pass(thread, random >> 20 & 15);
				/* Mostly as it should be: deeper with a call, less deep with its end. */
				if ((random >> 50 & 63) == 0)
					depth = random >> 40 & 7;
				if (kind < 7)
					synth_event(thread, ADA_EVENT_CALL, random >> 32 & 3, depth++);
				else if (kind < 15)
					synth_event(thread, kind < 13 ? ADA_EVENT_RETURN : ADA_EVENT_EXCEPTION, random >> 32 & 3,
						    depth ? --depth : 0);
				else if ((random >> 52 & 15) == 0)
					synth_event(thread, ADA_EVENT_LOST, 5, depth);
				if (j % 2000 == 1999)
					synth_roll(thread);
			}
		}
	}
	expect_all_sums(fixture, 5000 * 8);
}

/* Last, for the signal stays caught. */
static void test_interrupted(void **state)
{
	struct fixture *fixture = *state;
	struct ada_error error = {};
	struct ada_edges edges;
	struct ada_tree tree;

	paths(one_thread(fixture));
	fixture_open(fixture, true, NULL, NULL, NULL);
	ada_interrupt_catch();
	raise(SIGTERM);
	assert_int_equal(ada_tree_compute(&tree, &fixture->selection, 1, &error), -EINTR);
	assert_int_equal(ada_edges_compute(&edges, &fixture->selection, 1, &error), -EINTR);
	assert_int_equal(ada_interrupt_status(), 128 + SIGTERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(test_paths),
		FIXTURE_TEST(test_threads_and_processes_are_merged),
		FIXTURE_TEST(test_groups),
		FIXTURE_TEST(test_recursion),
		FIXTURE_TEST(test_time_range_has_its_ancestors),
		FIXTURE_TEST(test_nothing),
		FIXTURE_TEST(test_a_bound),
		FIXTURE_TEST(test_a_bound_with_workers),
		FIXTURE_TEST(test_deep),
		FIXTURE_TEST(test_edges),
		FIXTURE_TEST(test_edges_count_recursion_once),
		FIXTURE_TEST(test_edges_know_callers_from_before),
		FIXTURE_TEST(test_edges_of_random_calls),
		FIXTURE_TEST(test_sums_of_random_calls),
		FIXTURE_TEST(test_sums_of_chaos),
		FIXTURE_TEST(test_interrupted),
	};

	return cmocka_run_group_tests_name("tree", tests, NULL, NULL);
}
