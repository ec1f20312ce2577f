/* The call tree: calls merged by the path that led to them. Rules of stats.h: a call counts where it begins within the selection.
 *
 *   calls     every CALL on this path
 *   total_ns  sum of their durations; recursion needs no rule here, for a path's calls never lie in each other
 *   self_ns   without the calls directly below
 * So self_ns and calls, summed over all nodes of a function, are exactly what stats.h says of it.
 * A call that was open when the selection's time began is a node, too, with no calls of its own (`calls` 0), so that what it
 * called stands where it belongs.
 * Memory is bounded: after ADA_TREE_NODES nodes a new path counts in its parent's one node `rest` (function ADA_NO_FUNCTION).
 */
#ifndef ADA_QUERY_TREE_H
#define ADA_QUERY_TREE_H
#include "query/calls.h"
#include "query/selection.h"

#define ADA_TREE_NODES (1u << 20)

struct ada_tree_node {
	struct ada_module *module;	/* NULL: not known */
	uint64_t function_id;		/* in one of the processes; ADA_NO_FUNCTION: the root, or a rest */
	uint64_t key;			/* ada_process_function_key */
	uint32_t parent, next, first;	/* numbers of nodes: parent, next sibling, first child; 0: none (the root is nobody's child) */
	uint32_t depth;			/* root 0 */
	uint64_t calls, unknown;
	uint64_t total_ns, self_ns;
};

struct ada_tree {
	ADA_ARRAY(struct ada_tree_node) nodes;		/* 0 is the root: all threads */
	bool cut;					/* paths were merged into a rest */
	struct ada_completeness completeness;
};

int ada_tree_compute(struct ada_tree *tree, const struct ada_selection *selection, unsigned int workers,
		     struct ada_error *error);
void ada_tree_free(struct ada_tree *tree);
#endif
