/* A call tree in a line: name(calls total self [children]), "*" where there is no function. */
#ifndef ADA_TESTS_QUERY_TREE_TEXT_H
#define ADA_TESTS_QUERY_TREE_TEXT_H
#include "query/sums/tree.h"

/* Also checks the links between the nodes, and that a walk comes to all of them. */
void tree_expect(const struct ada_tree *tree, const char *expected);
#endif
