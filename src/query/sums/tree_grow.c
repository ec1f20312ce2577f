/* Nodes of a call tree, found and added. */
#include "query/sums/tree_grow.h"
#include <errno.h>
#include <stdlib.h>

static size_t place_of(const struct ada_growth *growth, uint32_t parent, uint64_t key)
{
	uint64_t hash = (key ^ (uint64_t)parent << 40 ^ (uint64_t)parent << 11) * 0x9e3779b97f4a7c15u;
	size_t mask = growth->capacity - 1, place;

	hash = (hash ^ hash >> 32) * 0xd1b54a32d192ed03u;
	for (place = (hash ^ hash >> 29) & mask; growth->places[place]; place = (place + 1) & mask) {
		const struct ada_tree_node *node = &growth->nodes.items[growth->places[place]];

		if (node->parent == parent && node->key == key)
			break;
	}
	return place;
}

static int enlarge_table(struct ada_growth *growth)
{
	size_t capacity = growth->capacity ? growth->capacity * 2 : 1024;
	uint32_t *places = calloc(capacity, sizeof *places);

	if (!places)
		return -ENOMEM;
	free(growth->places);
	growth->places = places;
	growth->capacity = capacity;
	for (uint32_t i = 1; i < growth->nodes.count; i++)
		places[place_of(growth, growth->nodes.items[i].parent, growth->nodes.items[i].key)] = i;
	return 0;
}

int ada_growth_open(struct ada_growth *growth)
{
	if (growth->nodes.count)
		return 0;
	return ada_array_push(&growth->nodes, (struct ada_tree_node){ .function_id = ADA_NO_FUNCTION, .key = ADA_NO_FUNCTION });
}

uint32_t ada_growth_find(const struct ada_growth *growth, uint32_t parent, uint64_t key)
{
	return growth->capacity ? growth->places[place_of(growth, parent, key)] : 0;
}

uint32_t ada_growth_child(struct ada_growth *growth, uint32_t parent, uint64_t key)
{
	uint32_t number;
	size_t place;

	if ((growth->nodes.count >= growth->capacity / 4 * 3 && enlarge_table(growth)) || ada_array_reserve(&growth->nodes, 1))
		return ADA_NO_NODE;
	place = place_of(growth, parent, key);
	if (growth->places[place])
		return growth->places[place];
	number = growth->nodes.count++;
	growth->nodes.items[number] = (struct ada_tree_node){
		.function_id = ADA_NO_FUNCTION, .key = key, .parent = parent, .depth = growth->nodes.items[parent].depth + 1
	};
	growth->places[place] = number;
	return number;
}

void ada_growth_add(struct ada_growth *growth, uint32_t number, const struct ada_tree_node *node)
{
	struct ada_tree_node *sum = &growth->nodes.items[number];

	if (sum->function_id == ADA_NO_FUNCTION) {
		sum->module = node->module;
		sum->function_id = node->function_id;
	}
	sum->calls += node->calls;
	sum->unknown += node->unknown;
	sum->total_ns += node->total_ns;
	sum->self_ns += node->self_ns;
}

static int compare_siblings(const void *left, const void *right, void *context)
{
	const struct ada_tree_node *nodes = context;
	const struct ada_tree_node *a = &nodes[*(const uint32_t *)left], *b = &nodes[*(const uint32_t *)right];

	if (!a->calls != !b->calls)
		return a->calls ? 1 : -1;
	if (a->total_ns != b->total_ns)
		return a->total_ns > b->total_ns ? -1 : 1;
	if (a->calls != b->calls)
		return a->calls > b->calls ? -1 : 1;
	return a->key < b->key ? -1 : a->key > b->key;
}

struct order {
	const struct ada_tree_node *nodes;
	int (*compare)(const void *left, const void *right, void *context);
	void *context;
};

static int compare_nodes(const void *left, const void *right, void *context)
{
	const struct order *order = context;
	uint32_t a = order->nodes[*(const uint32_t *)left].parent, b = order->nodes[*(const uint32_t *)right].parent;

	return a != b ? (a < b ? -1 : 1) : order->compare(left, right, order->context);
}

int ada_tree_sort(struct ada_tree *tree, int (*compare)(const void *left, const void *right, void *context), void *context)
{
	struct ada_tree_node *nodes = tree->nodes.items;
	struct order how = { nodes, compare, context };
	uint32_t count = tree->nodes.count, *order = calloc(count, sizeof *order);

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		order[i] = i;
		nodes[i].first = nodes[i].next = 0;
	}
	qsort_r(order + 1, count - 1, sizeof *order, compare_nodes, &how);
	for (uint32_t i = count; i-- > 1;) {
		struct ada_tree_node *node = &nodes[order[i]];

		node->next = nodes[node->parent].first;
		nodes[node->parent].first = order[i];
	}
	free(order);
	return 0;
}

int ada_growth_finish(struct ada_growth *growth, struct ada_tree *tree)
{
	struct ada_tree linked = {};

	if (ada_growth_open(growth))
		return -ENOMEM;
	linked.nodes.items = growth->nodes.items;
	linked.nodes.count = growth->nodes.count;
	linked.nodes.capacity = growth->nodes.capacity;
	if (ada_tree_sort(&linked, compare_siblings, linked.nodes.items))
		return -ENOMEM;
	memcpy(&tree->nodes, &linked.nodes, sizeof tree->nodes);
	tree->cut |= growth->cut;
	growth->nodes.items = NULL;
	growth->nodes.count = growth->nodes.capacity = 0;
	return 0;
}

void ada_growth_free(struct ada_growth *growth)
{
	ada_array_free(&growth->nodes);
	free(growth->places);
	*growth = (struct ada_growth){};
}
