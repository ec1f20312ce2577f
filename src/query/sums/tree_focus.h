/* Makes of a whole call tree one about some functions, which takes the whole tree's place. */
#ifndef ADA_QUERY_TREE_FOCUS_H
#define ADA_QUERY_TREE_FOCUS_H
#include "query/sums/tree.h"

/* Whether a node's function is one of them; asked once a function. */
typedef bool ada_tree_wanted(void *context, const struct ada_tree_node *node);

/* What lies below these functions, on every path: the outermost of them on each path are the root's children. 0 or -ENOMEM. */
int ada_tree_below(struct ada_tree *tree, ada_tree_wanted *wanted, void *context);
/* The tree turned around: these functions are the root's children, and below each node are its callers. A node counts the function's
 * calls and times that come this way; a call below another of the same function adds nothing to total_ns. Paths longer than
 * ADA_CALLERS_MAX, and more nodes than ADA_TREE_NODES, are cut off: their outermost callers are missing. */
#define ADA_CALLERS_MAX 1000
int ada_tree_callers(struct ada_tree *tree, ada_tree_wanted *wanted, void *context);
#endif
