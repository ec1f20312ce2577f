/* The call tree: calls merged by the path that led to them. Rules of stats.h: a call counts where it begins within the selection.
 *
 *   calls     every CALL on this path
 *   total_ns  sum of their durations; recursion needs no rule here, for calls of one path never lie in each other
 *   self_ns   without the calls directly below
 * So self_ns and calls, summed over all nodes of a function, are exactly what stats.h says of it. A call that was open when the
 * selection's time began is a node, too, with `calls` 0, so that the calls below it stand where they belong. Memory is bounded: after
 * ADA_TREE_NODES nodes a new path, and all below it, counts in its parent's one node `rest` (function ADA_NO_FUNCTION); a rest's total_ns
 * leaves out calls that lie below another of its own calls.
 */
#ifndef ADA_QUERY_TREE_H
#define ADA_QUERY_TREE_H
#include "query/calls/calls.h"
#include "query/session/selection.h"

#define ADA_TREE_NODES (1u << 20)
#define ADA_TREE_GROUP (1ull << 63) /* key of a group's node: this and the group */

struct ada_tree_node {
	struct ada_module *module;    /* NULL: not known */
	uint64_t function_id;	      /* in one of the processes; ADA_NO_FUNCTION: the root, a group, or a rest */
	uint64_t key;		      /* ada_process_function_key */
	uint32_t parent, next, first; /* numbers of nodes: parent, next sibling, first child; 0: none (the root is nobody's child) */
	uint32_t depth;		      /* root 0 */
	uint64_t calls, unknown;
	uint64_t total_ns, self_ns;
	bool muted; /* by ada_diff_mark_muted: of one of two recordings calls of the function are missing */
};

struct ada_tree {
	/* 0 is the root: all threads. A parent stands before its children; siblings are linked in a fixed order: those without calls
	 * first, then by total_ns, largest first. */
	ADA_ARRAY(struct ada_tree_node) nodes;
	bool cut; /* paths were merged into a rest */
	struct ada_completeness completeness;
};

struct ada_tree_how { /* all zero: of all threads as one */
	/* The group of each thread of the selection: each group has a node below the root. NULL: no groups. */
	const uint32_t *groups;
	/* Folds recursion: a call below another of its function counts in that call's node. A node's total_ns then leaves out calls that
	 * lie below another call of the node; calls and self_ns of a function stay what they are. */
	bool fold;
	/* Of each call the part counts, in calls, total_ns and self_ns, that lies in the selection's time, also of one that began before. */
	bool clip;
	size_t bound; /* instead of ADA_TREE_NODES, for tests; 0: that */
};
int ada_tree_compute(struct ada_tree *tree, const struct ada_selection *selection, const struct ada_tree_how *how, unsigned int workers,
		     struct ada_error *error);
/* The node behind this one, parents before their children, siblings in their order; 0: that was the last. */
uint32_t ada_tree_next(const struct ada_tree *tree, uint32_t number);
/* As ada_tree_next, without going below the node. */
uint32_t ada_tree_skip(const struct ada_tree *tree, uint32_t number);
/* Sorts siblings anew. `compare` gets pointers to two numbers of nodes with the same parent. 0 or -ENOMEM. */
int ada_tree_sort(struct ada_tree *tree, int (*compare)(const void *left, const void *right, void *context), void *context);
void ada_tree_free(struct ada_tree *tree);
#endif
