#include "query/sums/tune.h"
#include <errno.h>
#include <stdlib.h>
#include "base/hash.h"

#define LEAST_PART 1000u /* of all calls: who makes less isn't worth leaving out */

static bool has_function(const struct ada_tree_node *node)
{
	return node->function_id != ADA_NO_FUNCTION;
}

static int gather(struct ada_tune *tune, const struct ada_tree *tree, struct ada_table *by_key)
{
	for (size_t i = 1; i < tree->nodes.count; i++) {
		const struct ada_tree_node *node = &tree->nodes.items[i];
		uint64_t position;

		if (!has_function(node))
			continue;
		if (!ada_table_get(by_key, node->key, &position)) {
			struct ada_tune_function function = { .module = node->module, .function_id = node->function_id, .key = node->key };

			position = tune->functions.count;
			if (ada_array_push(&tune->functions, function) || ada_table_put(by_key, node->key, position))
				return -ENOMEM;
		}
		tune->functions.items[position].calls += node->calls;
		tune->functions.items[position].self_ns += node->self_ns;
		tune->calls += node->calls;
	}
	return 0;
}

/* The shortest calls first; of equals, those that are called most. */
static int compare_worth(const void *left, const void *right)
{
	const struct ada_tune_function *a = *(struct ada_tune_function *const *)left, *b = *(struct ada_tune_function *const *)right;
	double mean_a = (double)a->self_ns / (double)a->calls, mean_b = (double)b->self_ns / (double)b->calls;

	if (mean_a < mean_b || mean_a > mean_b)
		return mean_a < mean_b ? -1 : 1;
	if (a->calls != b->calls)
		return a->calls > b->calls ? -1 : 1;
	return (a->key > b->key) - (a->key < b->key);
}

/* Marks those that go. `order`: room for a pointer each. */
static void choose_going(struct ada_tune *tune, struct ada_tune_function **order, uint64_t calls_allowed)
{
	size_t count = 0;

	for (size_t i = 0; i < tune->functions.count; i++)
		if (tune->functions.items[i].calls && tune->functions.items[i].calls >= tune->calls / LEAST_PART)
			order[count++] = &tune->functions.items[i];
	qsort(order, count, sizeof *order, compare_worth);
	tune->calls_left = tune->calls;
	for (size_t i = 0; i < count && tune->calls_left > calls_allowed; i++) {
		order[i]->goes = true;
		tune->calls_left -= order[i]->calls;
		tune->going++;
	}
	tune->enough = tune->calls_left <= calls_allowed;
}

static struct ada_tune_function *function_of(struct ada_tune *tune, const struct ada_table *by_key, const struct ada_tree_node *node)
{
	uint64_t position;

	return has_function(node) && ada_table_get(by_key, node->key, &position) ? &tune->functions.items[position] : NULL;
}

/* The time of a call that goes is that of the nearest one above that stays, which is the same for a node that goes as for its parent: those
 * stand in front of their children. */
static int blur(struct ada_tune *tune, const struct ada_tree *tree, const struct ada_table *by_key)
{
	struct ada_tune_function **staying = calloc(tree->nodes.count + 1, sizeof *staying); /* by node; NULL: none stays */

	if (!staying)
		return -ENOMEM;
	for (size_t i = 1; i < tree->nodes.count; i++) {
		const struct ada_tree_node *node = &tree->nodes.items[i];
		struct ada_tune_function *function = function_of(tune, by_key, node);

		staying[i] = function && function->goes ? staying[node->parent] : function;
		if (function && function->goes && staying[i])
			staying[i]->blurred_ns += node->self_ns;
	}
	free(staying);
	return 0;
}

static int compare_shown(const void *left, const void *right)
{
	const struct ada_tune_function *a = left, *b = right;

	if (a->goes != b->goes)
		return a->goes ? -1 : 1;
	if (a->goes)
		return compare_worth(&a, &b);
	if (a->blurred_ns != b->blurred_ns)
		return a->blurred_ns > b->blurred_ns ? -1 : 1;
	return (a->key > b->key) - (a->key < b->key);
}

int ada_tune_compute(struct ada_tune *tune, const struct ada_tree *tree, uint64_t calls_allowed)
{
	struct ada_table by_key = { 0 };
	struct ada_tune_function **order = NULL;
	int status;

	*tune = (struct ada_tune){ 0 };
	status = gather(tune, tree, &by_key);
	if (!status) {
		order = calloc(tune->functions.count + 1, sizeof *order);
		status = order ? 0 : -ENOMEM;
	}
	if (!status) {
		choose_going(tune, order, calls_allowed);
		status = blur(tune, tree, &by_key);
		if (tune->functions.count)
			qsort(tune->functions.items, tune->functions.count, sizeof *tune->functions.items, compare_shown);
	}
	free(order);
	ada_table_free(&by_key);
	return status;
}

void ada_tune_free(struct ada_tune *tune)
{
	ada_array_free(&tune->functions);
}
