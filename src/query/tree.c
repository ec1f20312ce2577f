/* The call tree: see tree.h. */
#include "query/tree.h"

int ada_tree_compute(struct ada_tree *tree, const struct ada_selection *selection, unsigned int workers,
		     struct ada_error *error)
{
	*tree = (struct ada_tree){};
	if (ada_array_push(&tree->nodes, (struct ada_tree_node){ .function_id = ADA_NO_FUNCTION, .key = ADA_NO_FUNCTION }))
		return ada_error_set(error, 12, "out of memory");
	return 0;
}

void ada_tree_free(struct ada_tree *tree)
{
	ada_array_free(&tree->nodes);
}
