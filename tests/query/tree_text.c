/* Call trees as text. */
#include "tree_text.h"
#include <stdio.h>
#include <stdlib.h>
#include "../test.h"

static void write_node(const struct ada_tree *tree, uint32_t number, FILE *file)
{
	const struct ada_tree_node *node = &tree->nodes.items[number];
	char name[ADA_NAME_BUFFER];

	if (number)
		fprintf(file, "%s(%lu %lu %lu",
			node->function_id == ADA_NO_FUNCTION ? "*" : ada_module_function(node->module, node->function_id, name),
			node->calls, node->total_ns, node->self_ns);
	for (uint32_t child = node->first; child; child = tree->nodes.items[child].next) {
		assert_int_equal(tree->nodes.items[child].parent, number);
		assert_int_equal(tree->nodes.items[child].depth, node->depth + 1);
		fputs(number || child != node->first ? " " : "", file);
		write_node(tree, child, file);
	}
	fputs(number ? ")" : "", file);
}

void tree_expect(const struct ada_tree *tree, const char *expected)
{
	size_t size, walked = 1;
	char *text;
	FILE *file = open_memstream(&text, &size);

	write_node(tree, 0, file);
	fclose(file);
	assert_string_equal(text, expected);
	free(text);
	for (uint32_t number = ada_tree_next(tree, 0); number; number = ada_tree_next(tree, number))
		walked++;
	assert_int_equal(walked, tree->nodes.count);
}
