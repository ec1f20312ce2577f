/* Trees of trees. In every tree a parent's number is lower than its children's. */
#include "query/sums/tree_focus.h"
#include <errno.h>
#include <stdlib.h>
#include "base/hash.h"
#include "query/sums/tree_grow.h"

struct focus {
	const struct ada_tree_node *nodes;
	ada_tree_wanted *wanted;
	void *context;
	struct ada_table known; /* by key: whether it is wanted */
	struct ada_growth growth;
	int result;
};

static bool is_wanted(struct focus *focus, uint32_t number)
{
	const struct ada_tree_node *node = &focus->nodes[number];
	uint64_t wanted;

	if (!number || node->function_id == ADA_NO_FUNCTION)
		return false;
	if (ada_table_get(&focus->known, node->key, &wanted))
		return wanted;
	wanted = focus->wanted(focus->context, node);
	if (ada_table_put(&focus->known, node->key, wanted))
		focus->result = -ENOMEM;
	return wanted;
}

/* The child of `parent` for a node of the old tree; ADA_NO_NODE: no memory. */
static uint32_t child_for(struct focus *focus, uint32_t parent, uint32_t number)
{
	uint32_t child = ada_growth_child(&focus->growth, parent, focus->nodes[number].key);

	if (child == ADA_NO_NODE)
		focus->result = -ENOMEM;
	return child;
}

static int focus_finish(struct focus *focus, struct ada_tree *tree)
{
	struct ada_tree_node *old = tree->nodes.items;

	if (!focus->result && !ada_growth_finish(&focus->growth, tree))
		free(old);
	else
		focus->result = -ENOMEM;
	ada_growth_free(&focus->growth);
	ada_table_free(&focus->known);
	return focus->result;
}

int ada_tree_below(struct ada_tree *tree, ada_tree_wanted *wanted, void *context)
{
	struct focus focus = { .nodes = tree->nodes.items, .wanted = wanted, .context = context };
	uint32_t *numbers = calloc(tree->nodes.count + 1, sizeof *numbers); /* 0: below none of them */

	focus.result = numbers ? ada_growth_open(&focus.growth) : -ENOMEM;
	for (uint32_t i = 1; i < tree->nodes.count && !focus.result; i++) {
		uint32_t parent = numbers[focus.nodes[i].parent];

		if (!parent && !is_wanted(&focus, i))
			continue;
		numbers[i] = child_for(&focus, parent, i);
		if (!focus.result)
			ada_growth_add(&focus.growth, numbers[i], &focus.nodes[i]);
	}
	free(numbers);
	return focus_finish(&focus, tree);
}

/* For each node, whether one above it has the same label: an array for the caller to free; NULL: no memory. */
static bool *find_inner(const struct ada_tree *tree, const uint32_t *labels)
{
	uint32_t *open = calloc(tree->nodes.count, sizeof *open), before = 0; /* by label: those that the walk is below */
	bool *inner = calloc(tree->nodes.count, sizeof *inner);

	for (uint32_t i = ada_tree_next(tree, 0); i && open && inner; i = ada_tree_next(tree, i)) {
		for (uint32_t left = before; left != tree->nodes.items[i].parent; left = tree->nodes.items[left].parent)
			open[labels[left]]--;
		inner[i] = open[labels[i]]++;
		before = i;
	}
	if (!open) {
		free(inner);
		inner = NULL;
	}
	free(open);
	return inner;
}

/* A number for each function, by node; 0 is the root's. NULL: no memory. */
static uint32_t *number_functions(const struct ada_tree *tree)
{
	uint32_t *labels = calloc(tree->nodes.count, sizeof *labels), count = 0;
	struct ada_table known = {};

	for (uint32_t i = 1; labels && i < tree->nodes.count; i++) {
		uint64_t label;

		if (!ada_table_get(&known, tree->nodes.items[i].key, &label)) {
			label = ++count;
			if (ada_table_put(&known, tree->nodes.items[i].key, label)) {
				free(labels);
				labels = NULL;
				break;
			}
		}
		labels[i] = label;
	}
	ada_table_free(&known);
	return labels;
}

/* Adds what a node counts to its function, and to all callers on the way to it. */
static void add_way(struct focus *focus, uint32_t number, bool inner)
{
	struct ada_tree_node counts = focus->nodes[number];
	uint32_t at = 0, length = 0;

	if (inner)
		counts.total_ns = 0;
	for (uint32_t up = number; up && !focus->result; up = focus->nodes[up].parent) {
		if (length++ > ADA_CALLERS_MAX ||
		    (focus->growth.nodes.count >= ADA_TREE_NODES && !ada_growth_find(&focus->growth, at, focus->nodes[up].key))) {
			focus->growth.cut = true;
			return;
		}
		at = child_for(focus, at, up);
		if (focus->result)
			return;
		counts.module = focus->nodes[up].module;
		counts.function_id = focus->nodes[up].function_id;
		ada_growth_add(&focus->growth, at, &counts);
	}
}

int ada_tree_callers(struct ada_tree *tree, ada_tree_wanted *wanted, void *context)
{
	struct focus focus = { .nodes = tree->nodes.items, .wanted = wanted, .context = context };
	uint32_t *labels = number_functions(tree);
	bool *inner = labels ? find_inner(tree, labels) : NULL;

	focus.result = inner ? ada_growth_open(&focus.growth) : -ENOMEM;
	for (uint32_t i = 1; i < tree->nodes.count && !focus.result; i++)
		/* Nodes from before the selection have no calls that count. */
		if (is_wanted(&focus, i) && focus.nodes[i].calls)
			add_way(&focus, i, inner[i]);
	free(labels);
	free(inner);
	return focus_finish(&focus, tree);
}
