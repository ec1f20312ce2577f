/* Callers and callees whose numbers are known. */
#include "fixture.h"
#include "query/sums/edges.h"
#include "synth_random.h"

static const char *const names[] = { "main", "a", "b", "leaf", "open" };
enum { MAIN, A, B, LEAF, OPEN, NAMES };

static struct ada_edges compute_edges(const struct fixture *fixture, unsigned int workers)
{
	struct ada_error error = {};
	struct ada_edges edges;

	if (ada_edges_compute(&edges, &fixture->selection, workers, &error))
		fail_msg("%s", error.text);
	return edges;
}

/* main: a (b leaf 5)(leaf 7), b (leaf 9) twice */
static void paths(struct synth_thread *thread)
{
	synth_call(thread, MAIN);
	synth_call(thread, A);
	synth_call(thread, B);
	synth_leaf(thread, LEAF, 5);
	synth_pass(thread, 1);
	synth_return(thread);
	synth_leaf(thread, LEAF, 7);
	synth_return(thread);
	for (int i = 0; i < 2; i++) {
		synth_call(thread, B);
		synth_leaf(thread, LEAF, 9);
		synth_return(thread);
	}
	synth_pass(thread, 100);
	synth_return(thread);
}

static void test_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct ada_edges edges;

	fixture_open(fixture, true, NULL, NULL, NULL);
	edges = compute_edges(fixture, 0);
	assert_int_equal(edges.edges.count, 0);
	ada_edges_free(&edges);
}

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

	while (number < KNOWN_FUNCTIONS &&
	       (function_id == ADA_NO_FUNCTION || strcmp(known_name(number), ada_module_function(module, function_id, buffer))))
		number++;
	return number;
}

static void test_edges(void **state)
{
	struct fixture *fixture = *state;
	struct ada_edges edges;
	const struct ada_edge *edge;
	struct synth_thread *thread = fixture_thread(fixture, names, NAMES);

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
	struct synth_thread *thread = fixture_thread(fixture, names, NAMES);
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
	struct synth_thread *thread = fixture_thread(fixture, names, NAMES);
	struct ada_edges edges;

	synth_call(thread, MAIN);
	synth_pass(thread, 10);
	synth_leaf(thread, LEAF, 5);
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

		found[known_number(edge->caller_module, edge->caller_id)]
		     [known_number(edge->callee_module, edge->callee_id)] += edge->calls;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(test_nothing),
		FIXTURE_TEST(test_edges),
		FIXTURE_TEST(test_edges_count_recursion_once),
		FIXTURE_TEST(test_edges_know_callers_from_before),
		FIXTURE_TEST(test_edges_of_random_calls),
	};

	return cmocka_run_group_tests_name("edges", tests, NULL, NULL);
}
