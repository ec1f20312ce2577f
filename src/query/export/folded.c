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
#include "query/sums/tree.h"

#define FRAMES_MAX 1000

struct writer {
	struct ada_export *export;
	const struct ada_tree *tree;
	char **labels;		     /* by thread of the selection */
	uint32_t *groups;	     /* by thread of the selection: the first thread of the same label */
	ADA_ARRAY(char) path;	     /* of the node at hand */
	size_t ends[FRAMES_MAX + 2]; /* of `path`, by depth */
};

/* --- the threads ------------------------------------------------------------------------------------------------------ */

static int compare_labels(const void *left, const void *right, void *context)
{
	char *const *labels = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	int result = strcmp(labels[a], labels[b]);

	return result ? result : a < b ? -1 : a > b;
}

static char *make_label(const struct ada_thread *thread)
{
	char name[sizeof thread->name + 16], *label;

	if (thread->name[0])
		snprintf(name, sizeof name, "%s", thread->name);
	else
		snprintf(name, sizeof name, "thread %u", thread->tid);
	if (thread->process->session->processes.count == 1)
		return strdup(name);
	return asprintf(&label, "%s/%s", thread->process->directory, name) < 0 ? NULL : label;
}

static int group_threads(struct writer *writer, const struct ada_selection *selection)
{
	size_t count = selection->threads.count;
	uint32_t *order = calloc(count + 1, sizeof *order);

	writer->labels = calloc(count + 1, sizeof *writer->labels);
	writer->groups = calloc(count + 1, sizeof *writer->groups);
	if (!order || !writer->labels || !writer->groups)
		goto no_memory;
	for (size_t i = 0; i < count; i++) {
		order[i] = i;
		writer->labels[i] = make_label(selection->threads.items[i]);
		if (!writer->labels[i])
			goto no_memory;
	}
	qsort_r(order, count, sizeof *order, compare_labels, writer->labels);
	for (size_t i = 0; i < count; i++) {
		bool same = i && !strcmp(writer->labels[order[i]], writer->labels[order[i - 1]]);

		writer->groups[order[i]] = same ? writer->groups[order[i - 1]] : order[i];
	}
	free(order);
	return 0;
no_memory:
	free(order);
	return -ENOMEM;
}

static void free_groups(struct writer *writer, size_t count)
{
	for (size_t i = 0; writer->labels && i < count; i++)
		free(writer->labels[i]);
	free(writer->labels);
	free(writer->groups);
}

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
		return writer->labels[node->key & ~ADA_TREE_GROUP];
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
	struct writer writer = { .export = export };
	struct ada_tree tree = {};
	int result = group_threads(&writer, selection);

	if (!result)
		result = ada_tree_compute(&tree, selection, &(struct ada_tree_how){ .groups = writer.groups }, 0, error);
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
	free_groups(&writer, selection->threads.count);
	ada_tree_free(&tree);
	return result;
}
