/* A call tree that is being put together: for tree.c, and for files that make new trees of a tree.
 *
 * A node is found by its parent and its key, in a table of node numbers. The links between nodes are made at the end: until then the
 * maker may use `first`. */
#ifndef ADA_QUERY_TREE_GROW_H
#define ADA_QUERY_TREE_GROW_H
#include "query/sums/tree.h"

#define ADA_NO_NODE UINT32_MAX

struct ada_growth { /* all zero: empty */
	ADA_ARRAY(struct ada_tree_node) nodes;
	uint32_t *places; /* hash table of node numbers; 0: unused, for the root is never looked for */
	size_t capacity;
	bool cut;
};

int ada_growth_open(struct ada_growth *growth);						  /* the root, unless there is one: 0 or -ENOMEM */
uint32_t ada_growth_find(const struct ada_growth *growth, uint32_t parent, uint64_t key); /* 0: there is none */
/* Finds the child or adds it, then without a function; ADA_NO_NODE: no memory. */
uint32_t ada_growth_child(struct ada_growth *growth, uint32_t parent, uint64_t key);
/* Says what the node is, and adds to its counts. */
void ada_growth_add(struct ada_growth *growth, uint32_t number, const struct ada_tree_node *node);
/* Links the nodes, and moves them into tree->nodes. 0 or -ENOMEM. */
int ada_growth_finish(struct ada_growth *growth, struct ada_tree *tree);
void ada_growth_free(struct ada_growth *growth);
#endif
