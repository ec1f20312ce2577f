/* Which functions go so that recording costs what is allowed, and whose time theirs becomes. */
#include <stdlib.h>
#include <unistd.h>
#include "../test.h"

#include "query/sums/tune.h"

enum { ROOT, MAIN, WORK, TINY, LEAF, TINY_ALONE, RARE, NODES };

/* main > work > tiny > leaf, main > tiny, main > rare: tiny and leaf are called often, and short. */
static struct ada_tree_node nodes[NODES] = {
	[ROOT] = { .function_id = ADA_NO_FUNCTION, .first = MAIN },
	[MAIN] = { .function_id = 1, .key = 1, .parent = ROOT, .calls = 1, .self_ns = 5000 },
	[WORK] = { .function_id = 2, .key = 2, .parent = MAIN, .calls = 100, .self_ns = 100000 },
	[TINY] = { .function_id = 3, .key = 3, .parent = WORK, .calls = 4000, .self_ns = 80000 },
	[LEAF] = { .function_id = 4, .key = 4, .parent = TINY, .calls = 4000, .self_ns = 40000 },
	[TINY_ALONE] = { .function_id = 3, .key = 3, .parent = MAIN, .calls = 1000, .self_ns = 20000 },
	[RARE] = { .function_id = 5, .key = 5, .parent = MAIN, .calls = 2, .self_ns = 2 },
};
static const struct ada_tree tree = { .nodes = { nodes, NODES, NODES } };
#define CALLS (1 + 100 + 4000 + 4000 + 1000 + 2)

static void nothing_goes_where_all_is_allowed(void **state)
{
	struct ada_tune tune;

	assert_int_equal(ada_tune_compute(&tune, &tree, CALLS), 0);
	assert_int_equal(tune.going, 0);
	assert_int_equal(tune.calls, CALLS);
	assert_int_equal(tune.calls_left, CALLS);
	assert_true(tune.enough);
	assert_int_equal(tune.functions.count, 5);
	ada_tune_free(&tune);
}

static void the_shortest_goes_first(void **state)
{
	struct ada_tune tune;

	assert_int_equal(ada_tune_compute(&tune, &tree, 6000), 0);
	assert_int_equal(tune.going, 1);
	assert_int_equal(tune.functions.items[0].key, 4);
	assert_int_equal(tune.calls_left, CALLS - 4000);
	assert_int_equal(tune.functions.items[1].key, 3); /* leaf's time is tiny's, which stays */
	assert_int_equal(tune.functions.items[1].blurred_ns, 40000);
	ada_tune_free(&tune);
}

static void time_of_what_goes_is_that_of_who_stays(void **state)
{
	struct ada_tune tune;

	assert_int_equal(ada_tune_compute(&tune, &tree, 200), 0);
	assert_int_equal(tune.going, 2);
	assert_int_equal(tune.functions.items[0].key, 4);
	assert_int_equal(tune.functions.items[1].key, 3);
	assert_int_equal(tune.functions.items[1].calls, 5000);
	assert_int_equal(tune.functions.items[2].key, 2);
	assert_int_equal(tune.functions.items[2].blurred_ns, 80000 + 40000);
	assert_int_equal(tune.functions.items[3].key, 1);
	assert_int_equal(tune.functions.items[3].blurred_ns, 20000);
	assert_true(tune.enough);
	ada_tune_free(&tune);
}

/* main and, in it, 200,000 calls of two functions that go, each in the one before: a climb from each of them would take minutes. */
static void the_time_of_a_deep_recursion_is_told_at_once(void **state)
{
	enum { DEEP = 200000 };
	struct ada_tree_node *deep = calloc(DEEP, sizeof *deep);
	struct ada_tree tall = { .nodes = { deep, DEEP, DEEP } };
	struct ada_tune tune;

	assert_non_null(deep);
	deep[0].function_id = ADA_NO_FUNCTION;
	deep[1] = (struct ada_tree_node){ .function_id = 1, .key = 1, .calls = 1, .self_ns = 1000000 };
	for (uint32_t i = 2; i < DEEP; i++)
		deep[i] = (struct ada_tree_node){ .function_id = 2 + i % 2, .key = 2 + i % 2, .parent = i - 1, .calls = 1, .self_ns = 3 };
	alarm(20);
	assert_int_equal(ada_tune_compute(&tune, &tall, 1), 0);
	alarm(0);
	assert_int_equal(tune.going, 2);
	assert_int_equal(tune.functions.items[2].key, 1);
	assert_int_equal(tune.functions.items[2].blurred_ns, 3 * (DEEP - 2));
	ada_tune_free(&tune);
	free(deep);
}

static void what_is_rare_stays_though_it_is_not_enough(void **state)
{
	struct ada_tune tune;

	assert_int_equal(ada_tune_compute(&tune, &tree, 0), 0);
	assert_int_equal(tune.going, 3); /* leaf, tiny, work */
	assert_false(tune.enough);
	assert_int_equal(tune.calls_left, 1 + 2);
	ada_tune_free(&tune);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_goes_where_all_is_allowed),
		cmocka_unit_test(the_shortest_goes_first),
		cmocka_unit_test(time_of_what_goes_is_that_of_who_stays),
		cmocka_unit_test(the_time_of_a_deep_recursion_is_told_at_once),
		cmocka_unit_test(what_is_rare_stays_though_it_is_not_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
