/* Call trees that are known. */
#include "fixture.h"
#include "query/sums/tree.h"
#include "tree_text.h"

static const char *const names[] = { "main", "a", "b", "leaf", "open" };
enum { MAIN, A, B, LEAF, OPEN, NAMES };

static struct ada_tree compute_tree(const struct fixture *fixture, unsigned int workers)
{
	struct ada_error error = {};
	struct ada_tree tree;

	if (ada_tree_compute(&tree, &fixture->selection, &(struct ada_tree_how){}, workers, &error))
		fail_msg("%s", error.text);
	return tree;
}

static void expect(struct fixture *fixture, const char *expected)
{
	struct ada_tree tree = compute_tree(fixture, 1);

	tree_expect(&tree, expected);
	ada_tree_free(&tree);
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

static void test_paths(void **state)
{
	struct fixture *fixture = *state;

	paths(fixture_thread(fixture, names, NAMES));
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
		synth_leaf(synth_thread(fixture->synth, 20 + i, "worker"), LEAF, i);
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
	const struct ada_tree_how how = { .groups = (const uint32_t[]){ 0, 7, 8, 7 } };
	struct fixture *fixture = *state;
	struct ada_error error = {};
	struct ada_tree tree;

	fixture_thread(fixture, names, NAMES);
	for (uint32_t i = 0; i < 3; i++)
		synth_leaf(synth_thread(fixture->synth, 20 + i, "worker"), LEAF, 1 + i);
	fixture_open(fixture, true, NULL, NULL, NULL);
	assert_int_equal(ada_tree_compute(&tree, &fixture->selection, &how, 2, &error), 0);
	/* The groups have no calls: by their keys. The thread without events has none. */
	assert_int_equal(tree.nodes.items[tree.nodes.items[0].first].key, ADA_TREE_GROUP | 7);
	tree_expect(&tree, "*(0 0 0 leaf(2 4 4)) *(0 0 0 leaf(1 2 2))");
	ada_tree_free(&tree);
}

static void test_recursion(void **state)
{
	struct fixture *fixture = *state;
	struct synth_thread *thread = fixture_thread(fixture, names, NAMES);

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
	struct synth_thread *thread = fixture_thread(fixture, names, NAMES);

	synth_call(thread, MAIN);
	synth_call(thread, A);
	synth_pass(thread, 10);
	for (int i = 0; i < 10; i++) {
		synth_leaf(thread, LEAF, 60);
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

	fixture_open(fixture, true, NULL, NULL, NULL);
	expect(fixture, "");
}

static void test_a_bound(void **state)
{
	struct fixture *fixture = *state;
	struct ada_error error = {};
	struct ada_tree tree;

	paths(fixture_thread(fixture, names, NAMES));
	fixture_open(fixture, true, NULL, NULL, NULL);
	assert_int_equal(ada_tree_compute(&tree, &fixture->selection, &(struct ada_tree_how){ .bound = 3 }, 1, &error), 0);
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

	fixture_thread(fixture, names, NAMES);
	for (uint32_t i = 0; i < 8; i++) {
		struct synth_thread *thread = synth_thread(fixture->synth, 20 + i, "worker");

		synth_call(thread, i % 4);
		synth_leaf(thread, i / 4 + 3, 1);
		synth_return(thread);
	}
	fixture_open(fixture, true, NULL, NULL, NULL);
	for (unsigned int workers = 1; workers <= 8; workers++) {
		assert_int_equal(ada_tree_compute(&tree, &fixture->selection, &(struct ada_tree_how){ .bound = 3 }, workers, &error), 0);
		assert_true(tree.cut);
		tree_expect(&tree, "*(8 4 4) main(2 2 0 leaf(1 1 1) *(1 1 1)) a(2 2 0 *(2 2 2))");
		ada_tree_free(&tree);
	}
}

static void test_deep(void **state)
{
	struct fixture *fixture = *state;
	struct synth_thread *thread = fixture_thread(fixture, names, NAMES);
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
	};

	return cmocka_run_group_tests_name("tree", tests, NULL, NULL);
}
