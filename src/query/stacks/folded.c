/* Folded stacks, as flamegraph.pl, inferno and speedscope read them: a line a path, "THREAD;main;f;g WEIGHT", the weight being the
 * path's self time in ns. Lines of a function add up to its self_ns of stats.h exactly; paths without any have no line.
 *
 * The first frame is the thread's name (of several processes: pid_N/NAME), threads of one name share it. A ';' in a name becomes
 * ':', for it separates frames; control characters and what is no UTF-8 are shown as in text answers. Below FRAMES_MAX
 * frames a path goes on as "[...]" and the function alone: recursion 100,000 deep would else be gigabytes that no one can draw. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/hash.h"
#include "base/interrupt.h"
#include "query/export/export.h"
#include "query/stacks/thread_groups.h"
#include "query/sums/tree.h"

#define FRAMES_MAX 1000

struct writer {
	struct ada_export *export;
	const struct ada_tree *tree;
	const struct ada_thread_groups *threads;
	ADA_ARRAY(char) path;	     /* of the node at hand */
	size_t ends[FRAMES_MAX + 2]; /* of `path`, by depth */
};

/* --- the lines -------------------------------------------------------------------------------------------------------- */

static int append(struct writer *writer, const char *name)
{
	char *frame = ada_output_prepare(ADA_FORMAT_TEXT, name);
	size_t length = frame ? strlen(frame) : 0, start = writer->path.count;

	if (!frame || ada_array_reserve(&writer->path, length + 1)) {
		free(frame);
		return -ENOMEM;
	}
	if (start)
		writer->path.items[writer->path.count++] = ';';
	for (size_t i = 0; i < length; i++)
		writer->path.items[writer->path.count++] = frame[i] == ';' ? ':' : frame[i];
	free(frame);
	return 0;
}

static void write_line(struct writer *writer, uint64_t weight)
{
	struct ada_output *output = writer->export->output;

	if (!weight)
		return;
	ada_output_bytes(output, writer->path.items, writer->path.count);
	ada_output_string(output, " ");
	ada_output_u64(output, weight);
	ada_output_string(output, "\n");
}

static const char *name_of(const struct writer *writer, const struct ada_tree_node *node, char buffer[ADA_NAME_BUFFER])
{
	if (node->depth == 1)
		return writer->threads->labels[node->key & ~ADA_TREE_GROUP];
	if (node->key == ADA_NO_FUNCTION)
		return "[other paths]";
	return ada_module_function(node->module, node->function_id, buffer);
}

/* Writes all below a node: a line a function. */
static int write_deeper(struct writer *writer, uint32_t top)
{
	const struct ada_tree_node *nodes = writer->tree->nodes.items;
	ADA_ARRAY(struct {
		uint32_t node;
		uint64_t weight;
	})
	sums = {};
	uint32_t end = ada_tree_skip(writer->tree, top);
	struct ada_table numbers = {};
	char buffer[ADA_NAME_BUFFER];
	int result = append(writer, "[...]");
	size_t before = writer->path.count;

	for (uint32_t i = ada_tree_next(writer->tree, top); i != end && !result; i = ada_tree_next(writer->tree, i)) {
		uint64_t number;

		if (!ada_table_get(&numbers, nodes[i].key, &number)) {
			number = sums.count;
			if (ada_array_reserve(&sums, 1) || ada_table_put(&numbers, nodes[i].key, number)) {
				result = -ENOMEM;
				break;
			}
			sums.items[sums.count].node = i;
			sums.items[sums.count++].weight = 0;
		}
		sums.items[number].weight += nodes[i].self_ns;
	}
	for (size_t i = 0; i < sums.count && !result; i++) {
		result = append(writer, name_of(writer, &nodes[sums.items[i].node], buffer));
		if (!result)
			write_line(writer, sums.items[i].weight);
		writer->path.count = before;
	}
	ada_table_free(&numbers);
	ada_array_free(&sums);
	return result;
}

static int write_lines(struct writer *writer)
{
	const struct ada_tree *tree = writer->tree;
	uint32_t number = ada_tree_next(tree, 0);
	char buffer[ADA_NAME_BUFFER];
	int result = 0;

	while (number && !result) {
		const struct ada_tree_node *node = &tree->nodes.items[number];
		bool deepest = node->depth == FRAMES_MAX + 1; /* of a thread and its FRAMES_MAX calls */

		writer->path.count = node->depth > 1 ? writer->ends[node->depth - 1] : 0;
		result = append(writer, name_of(writer, node, buffer));
		writer->ends[node->depth] = writer->path.count;
		if (!result)
			write_line(writer, node->self_ns);
		if (!result && deepest && node->first)
			result = write_deeper(writer, number);
		if (!result && !(number & 4095) && ada_interrupted())
			result = -EINTR;
		number = deepest ? ada_tree_skip(tree, number) : ada_tree_next(tree, number);
	}
	return result;
}

int ada_export_folded(struct ada_export *export, struct ada_error *error)
{
	const struct ada_selection *selection = export->selection;
	struct ada_thread_groups threads;
	struct writer writer = { .export = export, .threads = &threads };
	struct ada_tree tree = {};
	int result = ada_thread_groups_make(&threads, selection);

	if (!result)
		result = ada_tree_compute(&tree, selection, &(struct ada_tree_how){ .groups = threads.groups }, 0, error);
	if (!result) {
		writer.tree = &tree;
		export->completeness = tree.completeness;
		export->paths_merged = tree.cut;
		result = write_lines(&writer);
	}
	if (result == -EINTR)
		ada_error_set(error, EINTR, "interrupted");
	else if (result)
		ada_error_system(error, -result, "%s", selection->session->path);
	ada_array_free(&writer.path);
	ada_thread_groups_free(&threads);
	ada_tree_free(&tree);
	return result;
}
