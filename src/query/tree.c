/* The call tree. Each worker grows a tree of its own; they are merged at the end.
 *
 * A node is found by its parent and its function: in a table of node numbers, after a look at the child that was found last (while
 * growing, `first` is that one; the links between nodes are made when all is counted). */
#include "query/tree.h"
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include "query/scan.h"

#define NO_NODE UINT32_MAX

struct growth {				/* a tree, growing */
	ADA_ARRAY(struct ada_tree_node) nodes;
	uint32_t *places;		/* hash table of node numbers; 0: unused, for the root is never looked for */
	size_t capacity;
	bool cut;
};

struct budget {				/* of all workers */
	atomic_size_t nodes;
	size_t bound;
	const uint32_t *groups;		/* NULL: none */
};

struct worker {
	struct ada_scan scan;
	struct growth growth;
	struct budget *budget;
	uint32_t base;			/* node of the thread being read */
	uint32_t above;			/* node of the innermost call from before the selection */
	size_t above_count;		/* of scan.above, when `above` was looked up */
};

/* --- finding and adding nodes ----------------------------------------------------------------------------------------- */

static size_t place_of(const struct growth *growth, uint32_t parent, uint64_t key)
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

static int enlarge_table(struct growth *growth)
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

/* Room for one node more: 0 or -ENOMEM. */
static int make_room(struct growth *growth)
{
	if (!growth->nodes.count &&
	    ada_array_push(&growth->nodes, (struct ada_tree_node){ .function_id = ADA_NO_FUNCTION, .key = ADA_NO_FUNCTION }))
		return -ENOMEM;
	if (growth->nodes.count >= growth->capacity / 4 * 3 && enlarge_table(growth))
		return -ENOMEM;
	return ada_array_reserve(&growth->nodes, 1);
}

static uint32_t add_node(struct growth *growth, uint32_t parent, uint64_t key, size_t place)
{
	uint32_t number = growth->nodes.count++;

	growth->nodes.items[number] = (struct ada_tree_node){
		.function_id = ADA_NO_FUNCTION, .key = key, .parent = parent, .depth = growth->nodes.items[parent].depth + 1,
	};
	growth->places[place] = number;
	return number;
}

/* The child of this key, whatever the bound says. */
static uint32_t keyed_child(struct growth *growth, uint32_t parent, uint64_t key)
{
	size_t place;

	if (make_room(growth))
		return NO_NODE;
	place = place_of(growth, parent, key);
	return growth->places[place] ? growth->places[place] : add_node(growth, parent, key, place);
}

static bool is_rest(const struct growth *growth, uint32_t number)
{
	return number && growth->nodes.items[number].key == ADA_NO_FUNCTION;
}

/* The node of `function_id` called from `parent`; its rest where there is no room for more paths. NO_NODE: no memory. */
static uint32_t find_child(struct worker *worker, uint32_t parent, uint64_t function_id)
{
	const struct ada_process *process = worker->scan.thread->process;
	uint64_t key = ada_process_function_key(process, function_id);
	struct growth *growth = &worker->growth;
	uint32_t number = growth->nodes.items[parent].first;
	size_t place;

	if (number && growth->nodes.items[number].key == key)
		return number;
	if (is_rest(growth, parent))
		return parent;
	if (make_room(growth))
		return NO_NODE;
	place = place_of(growth, parent, key);
	number = growth->places[place];
	if (!number) {
		if (atomic_load(&worker->budget->nodes) >= worker->budget->bound) {
			growth->cut = true;
			return keyed_child(growth, parent, ADA_NO_FUNCTION);
		}
		atomic_fetch_add(&worker->budget->nodes, 1);
		number = add_node(growth, parent, key, place);
		growth->nodes.items[number].function_id = function_id;
		growth->nodes.items[number].module = ada_process_module(process, function_id);
	}
	growth->nodes.items[parent].first = number;
	return number;
}

/* --- counting --------------------------------------------------------------------------------------------------------- */

/* What a call remembers: its node, and whether it lies below another of the same node, which only a rest's does. */
static void *as_user(uint32_t number, bool inner)
{
	return (void *)((uintptr_t)number << 1 | inner);
}

static uint32_t node_of(const struct ada_call *call)
{
	return (uintptr_t)call->user >> 1;
}

static void begin_thread(struct ada_scan *scan)
{
	struct worker *worker = (struct worker *)scan;

	worker->base = 0;
	if (make_room(&worker->growth))
		scan->result = -ENOMEM;
	else if (worker->budget->groups)
		worker->base = keyed_child(&worker->growth, 0, ADA_TREE_GROUP | worker->budget->groups[scan->number]);
	if (worker->base == NO_NODE)
		scan->result = -ENOMEM;
	worker->above = worker->base;
	worker->above_count = 0;
}

/* The node of the innermost call that is still open from before the selection. */
static uint32_t find_above(struct worker *worker)
{
	const struct ada_stack *above = &worker->scan.above;

	if (above->frames.count == worker->above_count)
		return worker->above;
	worker->above = worker->base;
	worker->above_count = above->frames.count;
	for (size_t i = 0; i < above->frames.count && worker->above != NO_NODE; i++)
		worker->above = find_child(worker, worker->above, above->frames.items[i].function_id);
	return worker->above;
}

static void count_begun(struct ada_scan *scan, struct ada_call *call)
{
	struct worker *worker = (struct worker *)scan;
	const struct ada_call *caller = ada_scan_caller(scan, call);
	uint32_t parent = caller ? node_of(caller) : find_above(worker), number = NO_NODE;

	if (parent != NO_NODE)
		number = find_child(worker, parent, call->function_id);
	if (number == NO_NODE) {
		scan->result = -ENOMEM;
		return;
	}
	worker->growth.nodes.items[number].calls++;
	call->user = as_user(number, caller && number == parent);
}

static void count_ended(struct ada_scan *scan, const struct ada_call *call)
{
	struct ada_tree_node *node = &((struct worker *)scan)->growth.nodes.items[node_of(call)];
	uint64_t duration_ns = call->end_ns - call->start_ns;

	if (call->outcome == ADA_OUTCOME_UNKNOWN) {
		node->unknown++;
		return;
	}
	if (!((uintptr_t)call->user & 1))
		node->total_ns += duration_ns;
	node->self_ns += duration_ns > call->children_ns ? duration_ns - call->children_ns : 0;
}

/* --- adding up -------------------------------------------------------------------------------------------------------- */

/* Adds `from` to `into`. Parents come before their children, so each node's parent has its new number already. */
static int merge(struct growth *into, const struct growth *from)
{
	uint32_t *numbers = calloc(from->nodes.count + 1, sizeof *numbers);
	int result = numbers ? make_room(into) : -ENOMEM;

	into->cut |= from->cut;
	for (uint32_t i = 1; i < from->nodes.count && !result; i++) {
		const struct ada_tree_node *node = &from->nodes.items[i];
		struct ada_tree_node *sum;

		numbers[i] = keyed_child(into, numbers[node->parent], node->key);
		if (numbers[i] == NO_NODE) {
			result = -ENOMEM;
			break;
		}
		sum = &into->nodes.items[numbers[i]];
		sum->module = node->module;
		sum->function_id = node->function_id;
		sum->calls += node->calls;
		sum->unknown += node->unknown;
		sum->total_ns += node->total_ns;
		sum->self_ns += node->self_ns;
	}
	free(numbers);
	return result;
}

static int compare_siblings(const void *left, const void *right, void *context)
{
	const struct ada_tree_node *nodes = context;
	const struct ada_tree_node *a = &nodes[*(const uint32_t *)left], *b = &nodes[*(const uint32_t *)right];

	if (a->parent != b->parent)
		return a->parent < b->parent ? -1 : 1;
	if (!a->calls != !b->calls)
		return a->calls ? 1 : -1;
	if (a->total_ns != b->total_ns)
		return a->total_ns > b->total_ns ? -1 : 1;
	if (a->calls != b->calls)
		return a->calls > b->calls ? -1 : 1;
	return a->key < b->key ? -1 : a->key > b->key;
}

static int link_nodes(struct growth *growth)
{
	struct ada_tree_node *nodes = growth->nodes.items;
	uint32_t count = growth->nodes.count, *order = calloc(count, sizeof *order);

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		order[i] = i;
		nodes[i].first = nodes[i].next = 0;
	}
	qsort_r(order + 1, count - 1, sizeof *order, compare_siblings, nodes);
	for (uint32_t i = count; i-- > 1;) {
		struct ada_tree_node *node = &nodes[order[i]];

		node->next = nodes[node->parent].first;
		nodes[node->parent].first = order[i];
	}
	free(order);
	return 0;
}

static void free_growth(struct growth *growth)
{
	ada_array_free(&growth->nodes);
	free(growth->places);
	growth->places = NULL;
}

int ada_tree_compute_bounded(struct ada_tree *tree, const struct ada_selection *selection, const uint32_t *groups, size_t bound,
			     unsigned int workers, struct ada_error *error)
{
	static const struct ada_scan_receiver receiver = { .thread = begin_thread, .begun = count_begun, .ended = count_ended };
	struct budget budget = { .bound = bound, .groups = groups };
	unsigned int count = ada_scan_workers(selection, workers);
	struct worker *crew = calloc(count, sizeof *crew);
	struct growth *sum;
	int result;

	*tree = (struct ada_tree){};
	if (!crew)
		return ada_error_system(error, ENOMEM, "%s", selection->session->path);
	for (unsigned int i = 0; i < count; i++)
		crew[i].budget = &budget;
	result = ada_scan_run(selection, &receiver, crew, sizeof *crew, count, &tree->completeness, error);
	sum = &crew[0].growth;
	if (!result && make_room(sum))
		result = ada_error_system(error, ENOMEM, "%s", selection->session->path);
	for (unsigned int i = 1; i < count; i++) {
		if (!result && merge(sum, &crew[i].growth))
			result = ada_error_system(error, ENOMEM, "%s", selection->session->path);
		free_growth(&crew[i].growth);
	}
	if (!result && link_nodes(sum))
		result = ada_error_system(error, ENOMEM, "%s", selection->session->path);
	if (!result) {
		tree->nodes.items = sum->nodes.items;
		tree->nodes.count = sum->nodes.count;
		tree->nodes.capacity = sum->nodes.capacity;
		tree->cut = sum->cut;
		sum->nodes.items = NULL;
		sum->nodes.count = sum->nodes.capacity = 0;
	}
	free_growth(sum);
	free(crew);
	return result;
}

int ada_tree_compute(struct ada_tree *tree, const struct ada_selection *selection, unsigned int workers,
		     struct ada_error *error)
{
	return ada_tree_compute_bounded(tree, selection, NULL, ADA_TREE_NODES, workers, error);
}

int ada_tree_compute_groups(struct ada_tree *tree, const struct ada_selection *selection, const uint32_t *groups,
			    unsigned int workers, struct ada_error *error)
{
	return ada_tree_compute_bounded(tree, selection, groups, ADA_TREE_NODES, workers, error);
}

/* --- walking ---------------------------------------------------------------------------------------------------------- */

uint32_t ada_tree_skip(const struct ada_tree *tree, uint32_t number)
{
	const struct ada_tree_node *nodes = tree->nodes.items;

	while (number && !nodes[number].next)
		number = nodes[number].parent;
	return number ? nodes[number].next : 0;
}

uint32_t ada_tree_next(const struct ada_tree *tree, uint32_t number)
{
	return tree->nodes.items[number].first ? tree->nodes.items[number].first : ada_tree_skip(tree, number);
}

void ada_tree_free(struct ada_tree *tree)
{
	ada_array_free(&tree->nodes);
}
