/* Two recordings side by side. */
#include <stdlib.h>
#include "fixture.h"
#include "query/sums/diff.h"
#include "tree_text.h"

/* The same functions in another order, one of them gone and one new: another build. */
static const char *const names[] = { "main", "leaf", "gone", "same", "same", "" };
static const char *const other_names[] = { "new", "same", "leaf", "main", "", "" };

struct pair {
	struct fixture *now, *before;
};

static int setup(void **state)
{
	struct pair *pair = calloc(1, sizeof *pair);

	if (fixture_setup((void **)&pair->now) || fixture_setup((void **)&pair->before))
		return -1;
	*state = pair;
	return 0;
}

static int teardown(void **state)
{
	struct pair *pair = *state;

	fixture_teardown((void **)&pair->now);
	fixture_teardown((void **)&pair->before);
	free(pair);
	return 0;
}

static struct synth_thread *start(struct fixture *fixture, const char *module, const char *const *functions)
{
	synth_process(fixture->synth, 10);
	synth_module(fixture->synth, module, functions, 6);
	return synth_thread(fixture->synth, 10, "prog");
}

static void finish(struct fixture *fixture)
{
	fixture_open(fixture, true, NULL, NULL, NULL);
	fixture_compute(fixture);
}

static const struct ada_difference *find(const struct ada_diff *diff, const char *name)
{
	char buffer[ADA_NAME_BUFFER];

	for (size_t i = 0; i < diff->functions.count; i++)
		if (!strcmp(ada_module_function(diff->functions.items[i].module, diff->functions.items[i].function_id, buffer), name))
			return &diff->functions.items[i];
	fail_msg("no function %s", name);
	return NULL;
}

static void test_functions_by_their_names(void **state)
{
	struct pair *pair = *state;
	struct synth_thread *before = start(pair->before, "/usr/bin/prog", names);
	struct synth_thread *now = start(pair->now, "/home/me/prog", other_names);
	struct ada_diff diff;

	synth_call(before, 0);
	synth_leaf(before, 1, 10);
	synth_leaf(before, 2, 20);
	synth_return(before);
	synth_call(now, 3);
	synth_leaf(now, 2, 7);
	synth_leaf(now, 2, 8);
	synth_leaf(now, 0, 30);
	synth_return(now);
	finish(pair->now);
	finish(pair->before);
	assert_int_equal(ada_diff_stats(&diff, &pair->now->stats, &pair->before->stats), 0);
	assert_int_equal(diff.functions.count, 4);
	assert_int_equal(find(&diff, "leaf")->now->calls, 2);
	assert_int_equal(find(&diff, "leaf")->now->total_ns, 15);
	assert_int_equal(find(&diff, "leaf")->before->total_ns, 10);
	assert_int_equal(find(&diff, "main")->now->total_ns, 45);
	assert_int_equal(find(&diff, "main")->before->total_ns, 30);
	assert_null(find(&diff, "new")->before);
	assert_null(find(&diff, "gone")->now);
	ada_diff_free(&diff);
}

static void test_functions_of_one_name_are_one(void **state)
{
	struct pair *pair = *state;
	struct synth_thread *before = start(pair->before, "/bin/prog", names), *now = start(pair->now, "/bin/prog", other_names);
	struct ada_diff diff;

	synth_leaf(before, 3, 10);
	synth_leaf(before, 4, 30);
	synth_leaf(now, 1, 7);
	finish(pair->now);
	finish(pair->before);
	assert_int_equal(ada_diff_stats(&diff, &pair->now->stats, &pair->before->stats), 0);
	assert_int_equal(diff.functions.count, 1);
	assert_int_equal(find(&diff, "same")->before->calls, 2);
	assert_int_equal(find(&diff, "same")->before->total_ns, 40);
	assert_int_equal(find(&diff, "same")->before->durations.max, 30);
	assert_int_equal(find(&diff, "same")->before->durations.min, 10);
	assert_int_equal(find(&diff, "same")->now->total_ns, 7);
	ada_diff_free(&diff);
}

static void test_modules_are_told_apart(void **state)
{
	struct pair *pair = *state;
	struct synth_thread *before = start(pair->before, "/bin/prog", names), *now = start(pair->now, "/bin/grop", names);
	struct ada_diff diff;

	synth_leaf(before, 1, 10);
	synth_leaf(now, 1, 10);
	finish(pair->now);
	finish(pair->before);
	assert_int_equal(ada_diff_stats(&diff, &pair->now->stats, &pair->before->stats), 0);
	assert_int_equal(diff.functions.count, 2);
	ada_diff_free(&diff);
}

static void test_trees(void **state)
{
	struct pair *pair = *state;
	struct synth_thread *before = start(pair->before, "/bin/prog", names), *now = start(pair->now, "/bin/prog", other_names);
	struct ada_tree_node *counts;
	struct ada_tree tree, other;
	struct ada_error error = {};
	uint64_t calls = 0;

	synth_call(before, 0);
	synth_leaf(before, 1, 10);
	synth_leaf(before, 2, 20);
	synth_return(before);
	synth_call(now, 3);
	synth_leaf(now, 2, 7);
	synth_call(now, 0);
	synth_leaf(now, 2, 30);
	synth_return(now);
	synth_return(now);
	finish(pair->now);
	finish(pair->before);
	assert_int_equal(ada_tree_compute(&tree, &pair->now->selection, &(struct ada_tree_how){}, 1, &error), 0);
	assert_int_equal(ada_tree_compute(&other, &pair->before->selection, &(struct ada_tree_how){}, 1, &error), 0);
	assert_int_equal(ada_diff_trees(&tree, &other, &counts), 0);
	tree_expect(&tree, "main(1 37 0 gone(0 0 0) new(1 30 0 leaf(1 30 30)) leaf(1 7 7))");
	for (uint32_t i = 1; i < tree.nodes.count; i++) {
		const struct ada_tree_node *node = &tree.nodes.items[i];
		char buffer[ADA_NAME_BUFFER];
		const char *name = ada_module_function(node->module, node->function_id, buffer);
		/* leaf below main was there before, leaf below new was not. */
		uint64_t expected = !strcmp(name, "main")		      ? 30 :
				    !strcmp(name, "gone")		      ? 20 :
				    !strcmp(name, "leaf") && node->depth == 2 ? 10 :
										0;

		assert_int_equal(counts[i].total_ns, expected);
		calls += counts[i].calls;
	}
	assert_int_equal(calls, 3);
	ada_tree_free(&tree);
	ada_tree_free(&other);
	free(counts);
}

static void test_nothing(void **state)
{
	struct pair *pair = *state;
	struct synth_thread *now = start(pair->now, "/bin/prog", names);
	struct ada_tree_node *counts;
	struct ada_tree tree, other;
	struct ada_error error = {};
	struct ada_diff diff;

	synth_leaf(now, 1, 10);
	finish(pair->now);
	finish(pair->before);
	assert_int_equal(ada_diff_stats(&diff, &pair->now->stats, &pair->before->stats), 0);
	assert_int_equal(diff.functions.count, 1);
	ada_diff_free(&diff);
	assert_int_equal(ada_tree_compute(&tree, &pair->now->selection, &(struct ada_tree_how){}, 1, &error), 0);
	assert_int_equal(ada_tree_compute(&other, &pair->before->selection, &(struct ada_tree_how){}, 1, &error), 0);
	assert_int_equal(ada_diff_trees(&tree, &other, &counts), 0);
	tree_expect(&tree, "leaf(1 10 10)");
	assert_int_equal(counts[1].calls, 0);
	ada_tree_free(&tree);
	ada_tree_free(&other);
	free(counts);
}

#define PAIR_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(test_functions_by_their_names),
		PAIR_TEST(test_functions_of_one_name_are_one),
		PAIR_TEST(test_modules_are_told_apart),
		PAIR_TEST(test_trees),
		PAIR_TEST(test_nothing),
	};

	return cmocka_run_group_tests_name("diff", tests, NULL, NULL);
}
