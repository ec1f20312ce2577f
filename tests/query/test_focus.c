/* Trees about some functions, made of whole ones. */
#include "fixture.h"
#include "query/sums/tree_focus.h"
#include "synth_random.h"
#include "tree_text.h"

static const char *const names[] = { "main", "a", "b", "leaf", "other" };
enum { MAIN, A, B, LEAF, OTHER, NAMES };

/* Each letter is a call, each ')' ends one after 1 ns; other characters are there for the eye. "m(a(l)))" */
static void play(struct synth_thread *thread, const char *script)
{
	static const char letters[] = "mablo";

	for (; *script; script++) {
		const char *letter = strchr(letters, *script);

		if (letter)
			synth_call(thread, letter - letters);
		if (*script == ')') {
			synth_pass(thread, 1);
			synth_return(thread);
		}
	}
}

static struct ada_tree grow_as(struct fixture *fixture, const char *script, bool fold)
{
	struct ada_error error = {};
	struct ada_tree tree;

	synth_process(fixture->synth, 10);
	synth_module(fixture->synth, "/bin/prog", names, NAMES);
	play(synth_thread(fixture->synth, 10, "prog"), script);
	fixture_open(fixture, true, NULL, NULL, NULL);
	assert_int_equal(ada_tree_compute(&tree, &fixture->selection, &(struct ada_tree_how){ .fold = fold }, 1, &error), 0);
	return tree;
}

static struct ada_tree grow(struct fixture *fixture, const char *script)
{
	return grow_as(fixture, script, false);
}

/* `context`: the letters of those wanted. */
static bool is_named(void *context, const struct ada_tree_node *node)
{
	char buffer[ADA_NAME_BUFFER];

	return strchr(context, *ada_module_function(node->module, node->function_id, buffer));
}

static void test_below(void **state)
{
	struct ada_tree tree = grow(*state, "m(b(a(l))l)l))a(l)b(o))))");

	assert_int_equal(ada_tree_below(&tree, is_named, "b"), 0);
	tree_expect(&tree, "b(2 7 2 leaf(2 2 2) a(1 2 1 leaf(1 1 1)) other(1 1 1))");
	ada_tree_free(&tree);
}

static void test_below_several_and_themselves(void **state)
{
	struct ada_tree tree = grow(*state, "m(a(b(a(l))))b(l)))");

	assert_int_equal(ada_tree_below(&tree, is_named, "ab"), 0);
	tree_expect(&tree, "a(1 4 1 b(1 3 1 a(1 2 1 leaf(1 1 1)))) b(1 2 1 leaf(1 1 1))");
	ada_tree_free(&tree);
}

static void test_below_no_one(void **state)
{
	struct ada_tree tree = grow(*state, "m(a(l)))");

	assert_int_equal(ada_tree_below(&tree, is_named, "x"), 0);
	tree_expect(&tree, "");
	ada_tree_free(&tree);
}

static void test_callers(void **state)
{
	struct ada_tree tree = grow(*state, "m(a(l)l))b(l))l))");

	assert_int_equal(ada_tree_callers(&tree, is_named, "l"), 0);
	tree_expect(&tree, "leaf(4 4 4 a(2 2 2 main(2 2 2)) main(1 1 1) b(1 1 1 main(1 1 1)))");
	ada_tree_free(&tree);
}

/* a calls itself: its total is the outermost call's, wherever the inner one came from. */
static void test_callers_of_recursion(void **state)
{
	struct ada_tree tree = grow(*state, "m(a(b(a))))");

	assert_int_equal(ada_tree_callers(&tree, is_named, "a"), 0);
	tree_expect(&tree, "a(2 3 2 main(1 3 1) b(1 0 1 a(1 0 1 main(1 0 1))))");
	ada_tree_free(&tree);
}

static void test_fold(void **state)
{
	struct ada_tree tree = grow_as(*state, "m(a(a(b(a(l))))l))b))", true);

	/* m  a  a  b  a  l: 6 calls, a nanosecond each; the second l lies below the outer a. */
	tree_expect(&tree, "main(1 8 1 a(3 6 3 b(1 3 1) leaf(2 2 2)) b(1 1 1))");
	ada_tree_free(&tree);
}

/* a b a b: each b lies in the one before. */
static void test_fold_in_turns(void **state)
{
	struct ada_tree tree = grow_as(*state, "a(b(a(b(l)))))", true);

	tree_expect(&tree, "a(2 5 2 b(2 4 2 leaf(1 1 1)))");
	ada_tree_free(&tree);
}

/* Random trees, folded or not: calls and self of a function stay, and no folded node lies below one of its function. */
static void test_sums(void **state)
{
	struct fixture *fixture = *state;
	struct ada_error error = {};

	known_free(synth_random(fixture->synth, 3, 4, 20000));
	fixture_open(fixture, true, NULL, NULL, NULL);
	fixture_compute(fixture);
	for (size_t i = 0; i < fixture->stats.functions.count; i++) {
		const struct ada_function_stats *function = fixture->stats.functions.items[i];
		uint64_t calls = 0, self_ns = 0, roots_ns = 0;
		struct ada_tree tree;

		assert_int_equal(ada_tree_compute(&tree, &fixture->selection, &(struct ada_tree_how){ .fold = i % 2 }, 2, &error), 0);
		for (uint32_t j = 1; j < tree.nodes.count; j++) {
			const struct ada_tree_node *node = &tree.nodes.items[j];
			bool same = node->module == function->module && node->function_id << 32 == function->function_id << 32;
			bool inner = false;

			for (uint32_t up = node->parent; up; up = tree.nodes.items[up].parent)
				inner |= tree.nodes.items[up].key == node->key;
			assert_false(i % 2 && inner);
			calls += same ? node->calls : 0;
			self_ns += same ? node->self_ns : 0;
			roots_ns += same && !inner ? node->total_ns : 0;
		}
		assert_int_equal(calls, function->calls);
		assert_int_equal(self_ns, function->self_ns);
		/* Folded, one node's calls may lie in another's of the same function. */
		if (i % 2 == 0)
			assert_int_equal(roots_ns, function->total_ns);
		ada_tree_free(&tree);
	}
}

static bool is_key(void *context, const struct ada_tree_node *node)
{
	return node->key == *(uint64_t *)context;
}

static void test_sums_of_callers(void **state)
{
	struct fixture *fixture = *state;
	struct ada_error error = {};

	known_free(synth_random(fixture->synth, 4, 3, 20000));
	fixture_open(fixture, true, NULL, NULL, NULL);
	fixture_compute(fixture);
	for (size_t i = 0; i < fixture->stats.functions.count; i++) {
		const struct ada_function_stats *function = fixture->stats.functions.items[i];
		uint64_t key = ada_process_function_key(fixture->session->processes.items[0], function->function_id);
		struct ada_tree tree;

		if (function->module != ada_process_module(fixture->session->processes.items[0], function->function_id))
			continue;
		assert_int_equal(ada_tree_compute(&tree, &fixture->selection, &(struct ada_tree_how){}, 1, &error), 0);
		assert_int_equal(ada_tree_callers(&tree, is_key, &key), 0);
		assert_int_equal(tree.nodes.items[1].calls, function->calls);
		assert_int_equal(tree.nodes.items[1].total_ns, function->total_ns);
		assert_int_equal(tree.nodes.items[1].self_ns, function->self_ns);
		assert_int_equal(tree.nodes.items[1].next, 0);
		ada_tree_free(&tree);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(test_below),
		FIXTURE_TEST(test_below_several_and_themselves),
		FIXTURE_TEST(test_below_no_one),
		FIXTURE_TEST(test_callers),
		FIXTURE_TEST(test_callers_of_recursion),
		FIXTURE_TEST(test_fold),
		FIXTURE_TEST(test_fold_in_turns),
		FIXTURE_TEST(test_sums),
		FIXTURE_TEST(test_sums_of_callers),
	};

	return cmocka_run_group_tests_name("focus", tests, NULL, NULL);
}
