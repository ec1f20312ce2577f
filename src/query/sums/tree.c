/* The call tree. Each worker grows a tree of its own; the trees are merged at the end. Before the table is asked for a child, the child
 * found last is tried. While a tree grows, a node's `first` is that child, and its `next` says how many calls of it are open on the
 * thread being read. */
#include "query/sums/tree.h"
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include "query/calls/scan.h"
#include "query/sums/tree_grow.h"

struct budget { /* of all workers */
	const struct ada_tree_how *how;
	size_t bound;
	atomic_size_t nodes;
};

struct worker {
	struct ada_scan scan;
	struct ada_growth growth;
	struct budget *budget;
	uint32_t base;	    /* node of the thread being read */
	uint32_t above;	    /* node of the innermost call from before the selection */
	size_t above_count; /* of scan.above, when `above` was looked up */
};

/* --- finding ---------------------------------------------------------------------------------------------------------- */

static bool is_rest(const struct ada_growth *growth, uint32_t number)
{
	return number && growth->nodes.items[number].key == ADA_NO_FUNCTION;
}

/* Among a node and those above it, the one of a function; 0: none. */
static uint32_t find_up(const struct ada_growth *growth, uint32_t number, uint64_t key)
{
	while (number && growth->nodes.items[number].key != key)
		number = growth->nodes.items[number].parent;
	return number;
}

/* The node of `function_id` called from `parent`; its rest where there is no room for more paths. ADA_NO_NODE: no memory. */
static uint32_t find_child(struct worker *worker, uint32_t parent, uint64_t function_id)
{
	const struct ada_process *process = worker->scan.thread->process;
	uint64_t key = ada_process_function_key(process, function_id);
	struct ada_growth *growth = &worker->growth;
	uint32_t number = growth->nodes.items[parent].first;

	if (number && growth->nodes.items[number].key == key)
		return number;
	if (is_rest(growth, parent))
		return parent;
	number = ada_growth_find(growth, parent, key);
	if (!number && worker->budget->how->fold) {
		number = find_up(growth, parent, key);
		if (number)
			return number;
	}
	if (!number) {
		if (atomic_load(&worker->budget->nodes) >= worker->budget->bound) {
			growth->cut = true;
			return ada_growth_child(growth, parent, ADA_NO_FUNCTION);
		}
		atomic_fetch_add(&worker->budget->nodes, 1);
		number = ada_growth_child(growth, parent, key);
		if (number == ADA_NO_NODE)
			return number;
		growth->nodes.items[number].function_id = function_id;
		growth->nodes.items[number].module = ada_process_module(process, function_id);
	}
	growth->nodes.items[parent].first = number;
	return number;
}

/* --- counting --------------------------------------------------------------------------------------------------------- */

/* What a call remembers: its node, and whether it lies below another call of that node, as with folded recursion and merged paths. */
static void *as_user(uint32_t number, bool inner)
{
	return (void *)((uintptr_t)number << 1 | inner);
}

static uint32_t node_of(const struct ada_call *call)
{
	return (uintptr_t)call->user >> 1;
}

static void count_in(struct worker *worker, uint32_t parent, struct ada_call *call)
{
	uint32_t number = parent == ADA_NO_NODE ? ADA_NO_NODE : find_child(worker, parent, call->function_id);

	if (number == ADA_NO_NODE) {
		worker->scan.result = -ENOMEM;
		return;
	}
	worker->growth.nodes.items[number].calls++;
	call->user = as_user(number, worker->growth.nodes.items[number].next++);
}

static void begin_thread(struct ada_scan *scan)
{
	struct worker *worker = (struct worker *)scan;
	struct ada_call *open = scan->calls.stack.items; /* those of `above`, outermost first */

	worker->base = 0;
	if (ada_growth_open(&worker->growth))
		scan->result = -ENOMEM;
	else if (worker->budget->how->groups)
		worker->base = ada_growth_child(&worker->growth, 0, ADA_TREE_GROUP | worker->budget->how->groups[scan->number]);
	if (worker->base == ADA_NO_NODE)
		scan->result = -ENOMEM;
	worker->above = worker->base;
	worker->above_count = 0;
	for (size_t i = 0; i < scan->above.frames.count && scan->clipped && !scan->result; i++)
		count_in(worker, i ? node_of(&open[i - 1]) : worker->base, &open[i]);
}

/* The node of the innermost call that is still open from before the selection. */
static uint32_t find_above(struct worker *worker)
{
	const struct ada_stack *above = &worker->scan.above;

	if (above->frames.count == worker->above_count)
		return worker->above;
	worker->above = worker->base;
	worker->above_count = above->frames.count;
	for (size_t i = 0; i < above->frames.count && worker->above != ADA_NO_NODE; i++)
		worker->above = find_child(worker, worker->above, above->frames.items[i].function_id);
	return worker->above;
}

static void count_begun(struct ada_scan *scan, struct ada_call *call)
{
	struct worker *worker = (struct worker *)scan;
	const struct ada_call *caller = ada_scan_caller(scan, call);

	count_in(worker, caller ? node_of(caller) : find_above(worker), call);
}

static void count_set_aside(struct ada_scan *scan, struct ada_call *call)
{
	((struct worker *)scan)->growth.nodes.items[node_of(call)].next--;
}

static void count_ended(struct ada_scan *scan, const struct ada_call *call)
{
	struct ada_tree_node *node = &((struct worker *)scan)->growth.nodes.items[node_of(call)];
	uint64_t duration_ns = ada_call_duration(call);

	if (!call->aside)
		node->next--;
	if (call->outcome == ADA_OUTCOME_UNKNOWN) {
		node->unknown++;
		return;
	}
	if (!((uintptr_t)call->user & 1))
		node->total_ns += duration_ns;
	node->self_ns += ada_call_self(call);
}

/* --- adding up -------------------------------------------------------------------------------------------------------- */

/* Adds `from` to `into`. Parents come before their children, so each node's parent has its new number already. */
static int merge(struct ada_growth *into, const struct ada_growth *from)
{
	uint32_t *numbers = calloc(from->nodes.count + 1, sizeof *numbers);
	int result = numbers ? ada_growth_open(into) : -ENOMEM;

	into->cut |= from->cut;
	for (uint32_t i = 1; i < from->nodes.count && !result; i++) {
		const struct ada_tree_node *node = &from->nodes.items[i];

		numbers[i] = ada_growth_child(into, numbers[node->parent], node->key);
		if (numbers[i] == ADA_NO_NODE)
			result = -ENOMEM;
		else
			ada_growth_add(into, numbers[i], node);
	}
	free(numbers);
	return result;
}

/* Grows with so many workers. Where several ran out of room, chance decides which paths found some. */
static int grow(struct ada_tree *tree, const struct ada_selection *selection, struct budget *budget, unsigned int count,
		struct ada_error *error)
{
	static const struct ada_scan_receiver receiver = {
		.thread = begin_thread, .begun = count_begun, .set_aside = count_set_aside, .ended = count_ended
	};
	struct worker *crew = calloc(count, sizeof *crew);
	struct ada_growth *sum;
	int result;

	if (!crew)
		return ada_error_system(error, ENOMEM, "%s", selection->session->path);
	for (unsigned int i = 0; i < count; i++) {
		crew[i].budget = budget;
		crew[i].scan.clipped = budget->how->clip;
	}
	result = ada_scan_run(selection, &receiver, crew, sizeof *crew, count, &tree->completeness, error);
	sum = &crew[0].growth;
	for (unsigned int i = 1; i < count; i++) {
		if (!result && merge(sum, &crew[i].growth))
			result = ada_error_system(error, ENOMEM, "%s", selection->session->path);
		ada_growth_free(&crew[i].growth);
	}
	if (!result && ada_growth_finish(sum, tree))
		result = ada_error_system(error, ENOMEM, "%s", selection->session->path);
	ada_growth_free(sum);
	free(crew);
	return result;
}

int ada_tree_compute(struct ada_tree *tree, const struct ada_selection *selection, const struct ada_tree_how *how, unsigned int workers,
		     struct ada_error *error)
{
	unsigned int count = ada_scan_workers(selection, workers);
	struct budget budget = { .how = how, .bound = how->bound ? how->bound : ADA_TREE_NODES };
	int result;

	*tree = (struct ada_tree){};
	result = grow(tree, selection, &budget, count, error);
	if (result || count == 1 || !tree->cut)
		return result;
	/* One worker's answer is always the same. */
	ada_tree_free(tree);
	*tree = (struct ada_tree){};
	atomic_store(&budget.nodes, 0);
	return grow(tree, selection, &budget, 1, error);
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
