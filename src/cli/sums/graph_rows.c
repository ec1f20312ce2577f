/* Rows of a call tree: which, in what order, and printed.
 *
 * A node's weight is its total time or, where that is not known (the call began before the selection, or its end was not recorded), the
 * weight of what lies below. So no node weighs less than all below it together, and hiding a branch hides no heavier one. */
#include "cli/sums/graph_rows.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/interrupt.h"
#include "base/units.h"
#include "cli/ground/rows.h"
#include "cli/ground/source_cells.h"
#include "cli/sums/compare.h"

#define INDENT_MAX 80 /* levels; deeper ones say how deep they are */

enum field {
	ID,
	PARENT,
	DEPTH,
	FUNCTION,
	MODULE,
	STATUS,
	SOURCE,
	CALLS = SOURCE + ADA_SOURCE_CELLS,
	CALLS_BEFORE,
	CALLS_CHANGE,
	TOTAL,
	TOTAL_BEFORE,
	TOTAL_CHANGE,
	SELF,
	SELF_BEFORE,
	SELF_CHANGE,
	UNKNOWN,
	PERCENT,
	FIELDS
};

static const struct ada_column all_columns[FIELDS] = {
	[ID] = { "id", NULL, ADA_CELL_NUMBER },
	[PARENT] = { "parent", NULL, ADA_CELL_NUMBER },
	[DEPTH] = { "depth", NULL, ADA_CELL_NUMBER },
	[FUNCTION] = { "function", "FUNCTION", ADA_CELL_NAME },
	[MODULE] = { "module", NULL, ADA_CELL_TEXT },
	[STATUS] = { "status", "STATUS", ADA_CELL_TEXT },
	[SOURCE] = ADA_SOURCE_COLUMNS,
	[CALLS] = { "calls", "CALLS", ADA_CELL_NUMBER },
	[CALLS_BEFORE] = { "calls_before", "BEFORE", ADA_CELL_NUMBER },
	[CALLS_CHANGE] = { "calls_change", NULL, ADA_CELL_WRITTEN },
	[TOTAL] = { "total_ns", "TOTAL", ADA_CELL_DURATION },
	[TOTAL_BEFORE] = { "total_before_ns", "BEFORE", ADA_CELL_DURATION },
	[TOTAL_CHANGE] = { "total_change_ns", "CHANGE", ADA_CELL_WRITTEN },
	[SELF] = { "self_ns", "SELF", ADA_CELL_DURATION },
	[SELF_BEFORE] = { "self_before_ns", "BEFORE", ADA_CELL_DURATION },
	[SELF_CHANGE] = { "self_change_ns", NULL, ADA_CELL_WRITTEN },
	[UNKNOWN] = { "unknown", NULL, ADA_CELL_NUMBER },
	[PERCENT] = { "percent", "%", ADA_CELL_WRITTEN },
};

static const enum field plain_fields[] = { ID, PARENT, DEPTH, FUNCTION, MODULE, CALLS, TOTAL, SELF, PERCENT, UNKNOWN };
static const enum field diff_fields[] = { ID,	PARENT,	     DEPTH,	  FUNCTION, MODULE,	  TOTAL,	TOTAL_BEFORE, TOTAL_CHANGE,
					  SELF, SELF_BEFORE, SELF_CHANGE, CALLS,    CALLS_BEFORE, CALLS_CHANGE, STATUS };

struct printing {
	const struct ada_graph *graph;
	const struct ada_tree_node *nodes;
	uint64_t *weights, *before_weights; /* the latter NULL without --diff */
	bool *hidden;
	uint32_t *ids;		    /* of the rows */
	uint64_t small, deep, over; /* nodes not shown, by why */
	enum field fields[FIELDS];  /* of the columns */
	struct ada_column columns[FIELDS];
	size_t column_count;
	struct ada_rows rows;
	char *text; /* a name with its indentation */
	size_t text_size;
};

/* --- weights ---------------------------------------------------------------------------------------------------------- */

/* An array for the caller to free; NULL: no memory. `counts` are the nodes', or another recording's. */
static uint64_t *weigh(const struct ada_tree *tree, const struct ada_tree_node *counts, bool inverted)
{
	uint64_t *weights = calloc(tree->nodes.count, sizeof *weights);

	for (uint32_t i = tree->nodes.count; weights && i-- > 0;) {
		if (weights[i] < counts[i].total_ns)
			weights[i] = counts[i].total_ns;
		if (weights[i] < counts[i].self_ns) /* of a function's recursive calls, total_ns is the outermost one's */
			weights[i] = counts[i].self_ns;
		if (i && !inverted) /* else what lies below is counted in the node already */
			weights[tree->nodes.items[i].parent] += weights[i];
	}
	return weights;
}

uint64_t *ada_graph_weights(const struct ada_tree *tree)
{
	return weigh(tree, tree->nodes.items, false);
}

int ada_graph_run_ns(const struct ada_tree *tree, uint64_t *run_ns)
{
	uint64_t *weights = ada_graph_weights(tree);

	if (!weights)
		return -ENOMEM;
	*run_ns = weights[0];
	free(weights);
	return 0;
}

/* The node's share of the run, in the recording where that share is larger. */
static double share_of(const struct printing *printing, uint32_t number)
{
	const struct ada_graph *graph = printing->graph;
	double share = graph->run_ns ? 100.0 * printing->weights[number] / graph->run_ns : 0, before;

	if (!printing->before_weights || !graph->before_run_ns)
		return share;
	before = 100.0 * printing->before_weights[number] / graph->before_run_ns;
	return share > before ? share : before;
}

/* --- order ------------------------------------------------------------------------------------------------------------ */

static const char *name_of(const struct ada_tree_node *node, char buffer[ADA_NAME_BUFFER])
{
	return node->function_id == ADA_NO_FUNCTION ? "(other paths)" : ada_module_function(node->module, node->function_id, buffer);
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* The number that sorts a node: in a comparison, how much it changed. */
static uint64_t rank(const struct printing *printing, uint32_t number)
{
	const struct ada_tree_node *node = &printing->nodes[number];
	const struct ada_tree_node *before = printing->graph->before ? &printing->graph->before[number] : NULL;

	switch (printing->graph->sort) {
	case ADA_GRAPH_SELF: return distance(node->self_ns, before ? before->self_ns : 0);
	case ADA_GRAPH_CALLS: return distance(node->calls, before ? before->calls : 0);
	case ADA_GRAPH_TOTAL: break;
	}
	return distance(printing->weights[number], before ? printing->before_weights[number] : 0);
}

static int compare_siblings(const void *left, const void *right, void *context)
{
	const struct printing *printing = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	uint64_t a_rank = rank(printing, a), b_rank = rank(printing, b);
	char a_buffer[ADA_NAME_BUFFER], b_buffer[ADA_NAME_BUFFER];
	int result;

	if (a_rank != b_rank)
		return a_rank > b_rank ? -1 : 1;
	result = strcmp(name_of(&printing->nodes[a], a_buffer), name_of(&printing->nodes[b], b_buffer));
	if (!result)
		result = strcmp(ada_module_name(printing->nodes[a].module), ada_module_name(printing->nodes[b].module));
	if (!result)
		result = printing->nodes[a].key < printing->nodes[b].key ? -1 : 1;
	return result;
}

/* --- what is shown ---------------------------------------------------------------------------------------------------- */

static int compare_heaviest(const void *left, const void *right, void *context)
{
	const struct printing *printing = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	double a_share = share_of(printing, a), b_share = share_of(printing, b);

	if (a_share != b_share)
		return a_share > b_share ? -1 : 1;
	if (printing->nodes[a].depth != printing->nodes[b].depth)
		return printing->nodes[a].depth < printing->nodes[b].depth ? -1 : 1;
	return compare_siblings(left, right, context);
}

/* Keeps the heaviest nodes, and with each all nodes above it. */
static int keep_heaviest(struct printing *printing)
{
	uint32_t count = printing->graph->tree.nodes.count, shown = 0, *order = calloc(count, sizeof *order);

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 1; i < count; i++)
		if (!printing->hidden[i])
			order[shown++] = i;
	qsort_r(order, shown, sizeof *order, compare_heaviest, printing);
	for (uint64_t i = printing->graph->limit; i < shown; i++) {
		printing->hidden[order[i]] = true;
		printing->over++;
	}
	free(order);
	return 0;
}

/* A function that the user asked for is there, however light: below it, shares are of its own time. */
static double least_share(const struct printing *printing)
{
	const struct ada_graph *graph = printing->graph;
	double asked = 0;

	if (!graph->of_function)
		return graph->min_percent;
	for (uint32_t i = 1; i < graph->tree.nodes.count; i++)
		if (!printing->nodes[i].parent)
			asked += share_of(printing, i);
	return graph->min_percent / 100 * asked;
}

static int hide(struct printing *printing)
{
	const struct ada_graph *graph = printing->graph;
	double least = least_share(printing);

	for (uint32_t i = 1; i < graph->tree.nodes.count; i++) {
		if (share_of(printing, i) < least)
			printing->small += printing->hidden[i] = true;
		else if (printing->nodes[i].depth > graph->depth)
			printing->deep += printing->hidden[i] = true;
	}
	return graph->limit < graph->tree.nodes.count ? keep_heaviest(printing) : 0;
}

/* --- rows ------------------------------------------------------------------------------------------------------------- */

static void add_columns(struct printing *printing, const enum field *fields, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		printing->fields[printing->column_count] = fields[i];
		printing->columns[printing->column_count++] = all_columns[fields[i]];
	}
}

static void choose_columns(struct printing *printing)
{
	static const enum field source[] = { SOURCE, SOURCE + 1 };

	if (printing->graph->before)
		add_columns(printing, diff_fields, sizeof diff_fields / sizeof *diff_fields);
	else
		add_columns(printing, plain_fields, sizeof plain_fields / sizeof *plain_fields);
	if (printing->graph->source)
		add_columns(printing, source, ADA_SOURCE_CELLS);
}

/* The name as text shows it: indented, with its module where that differs from the one above. NULL: no memory. */
static const char *indented(struct printing *printing, uint32_t number, const char *name)
{
	const struct ada_tree_node *node = &printing->nodes[number];
	uint32_t level = node->depth - 1;
	bool deep = level > INDENT_MAX, moved;
	const char *module = ada_module_name(node->module);
	size_t size = 2 * INDENT_MAX + strlen(name) + strlen(module) + 32;
	char depth[16] = "";

	moved = *module && strcmp(module, ada_module_name(printing->nodes[node->parent].module));
	if (size > printing->text_size) {
		free(printing->text);
		printing->text = malloc(size);
		printing->text_size = printing->text ? size : 0;
	}
	if (!printing->text)
		return NULL;
	if (deep)
		snprintf(depth, sizeof depth, "(%u) ", level);
	snprintf(printing->text, size, "%*s%s%s%s%s%s", (int)(2 * (deep ? INDENT_MAX : level)), "", depth, name, moved ? "  [" : "",
		 moved ? module : "", moved ? "]" : "");
	return printing->text;
}

struct texts {
	char percent[32], calls[ADA_COMPARE_TEXT], total[ADA_COMPARE_TEXT], self[ADA_COMPARE_TEXT];
};

static void fill_comparison(const struct printing *printing, uint32_t number, struct ada_cell cells[FIELDS], struct texts *texts)
{
	const struct ada_tree_node *now = &printing->nodes[number], *before = &printing->graph->before[number];
	enum ada_format format = printing->graph->format;

	cells[STATUS].text = now->muted ? "muted" : before->calls && now->calls ? "" : now->calls ? "new" : before->calls ? "gone" : "";
	cells[STATUS].absent = !cells[STATUS].text[0] && format != ADA_FORMAT_TEXT;
	cells[CALLS_BEFORE].number = before->calls;
	cells[TOTAL_BEFORE].number = before->total_ns;
	cells[SELF_BEFORE].number = before->self_ns;
	cells[CALLS_CHANGE].text = ada_compare_change(texts->calls, format, false, now->calls, before->calls);
	cells[TOTAL_CHANGE].text = ada_compare_change(texts->total, format, true, now->total_ns, before->total_ns);
	cells[SELF_CHANGE].text = ada_compare_change(texts->self, format, true, now->self_ns, before->self_ns);
	cells[CALLS_CHANGE].absent = cells[TOTAL_CHANGE].absent = cells[SELF_CHANGE].absent = now->muted;
}

static int put_row(struct printing *printing, uint32_t number)
{
	const struct ada_graph *graph = printing->graph;
	const struct ada_tree_node *node = &printing->nodes[number];
	struct ada_cell cells[FIELDS] = {}, row[FIELDS];
	char buffer[ADA_NAME_BUFFER], source[ADA_SOURCE_TEXT];
	bool text = graph->format == ADA_FORMAT_TEXT;
	/* The call began before the selection: the row is there for the calls below. */
	bool outside = text && !node->calls && !graph->before;
	struct texts texts;

	cells[ID].number = printing->ids[number];
	cells[PARENT] = (struct ada_cell){ .number = printing->ids[node->parent], .absent = !node->parent };
	cells[DEPTH].number = node->depth - 1;
	cells[FUNCTION].text = name_of(node, buffer);
	if (text)
		cells[FUNCTION].text = indented(printing, number, cells[FUNCTION].text);
	if (!cells[FUNCTION].text)
		return -ENOMEM;
	cells[MODULE].text = ada_module_name(node->module);
	cells[CALLS] = (struct ada_cell){ .number = node->calls, .absent = outside };
	cells[TOTAL] = (struct ada_cell){ .number = node->total_ns, .absent = outside };
	cells[SELF] = (struct ada_cell){ .number = node->self_ns, .absent = outside };
	cells[UNKNOWN].number = node->unknown;
	snprintf(texts.percent, sizeof texts.percent, text ? "%.1f" : "%.4f", share_of(printing, number));
	cells[PERCENT].text = texts.percent;
	if (graph->before)
		fill_comparison(printing, number, cells, &texts);
	if (graph->source)
		ada_source_fill(&cells[SOURCE], node->module, node->function_id, graph->format, source);
	for (size_t i = 0; i < printing->column_count; i++)
		row[i] = cells[printing->fields[i]];
	return ada_rows_add(&printing->rows, row);
}

static int put_rows(struct printing *printing)
{
	const struct ada_tree *tree = &printing->graph->tree;
	uint32_t number = ada_tree_next(tree, 0), id = 0;
	int result = 0;

	while (number && !result) {
		if (printing->hidden[number]) {
			number = ada_tree_skip(tree, number);
			continue;
		}
		printing->ids[number] = id++;
		result = put_row(printing, number);
		if (!result && !(id & 1023) && ada_interrupted())
			result = -EINTR;
		number = ada_tree_next(tree, number);
	}
	return result;
}

/* --- all of it -------------------------------------------------------------------------------------------------------- */

const char *ada_graph_cut(const struct ada_graph *graph)
{
	return graph->inverted ? "Callers far up are missing: there are too many paths." :
				 "There are too many paths: the rest of them are merged.";
}

static void put_hidden(const struct printing *printing, struct ada_output *output)
{
	const struct ada_graph *graph = printing->graph;
	char line[200];

	if (printing->small) {
		snprintf(line, sizeof line, "%llu path%s below %g %% of the %s not shown (--min=0 shows all).\n",
			 (unsigned long long)printing->small, printing->small == 1 ? "" : "s", graph->min_percent,
			 graph->of_function ? "function's time" : "run");
		ada_output_string(output, line);
	}
	if (printing->deep) {
		snprintf(line, sizeof line, "%llu path%s deeper than %u calls not shown (--depth).\n", (unsigned long long)printing->deep,
			 printing->deep == 1 ? "" : "s", graph->depth);
		ada_output_string(output, line);
	}
	if (printing->over) {
		snprintf(line, sizeof line, "%llu lighter path%s not shown (--limit).\n", (unsigned long long)printing->over,
			 printing->over == 1 ? "" : "s");
		ada_output_string(output, line);
	}
	if (graph->tree.cut) {
		ada_output_string(output, ada_graph_cut(graph));
		ada_output_string(output, "\n");
	}
}

int ada_graph_put(struct ada_graph *graph, struct ada_output *output)
{
	struct printing printing = { .graph = graph };
	size_t count = graph->tree.nodes.count;
	int result = -ENOMEM;

	printing.nodes = graph->tree.nodes.items;
	printing.weights = weigh(&graph->tree, printing.nodes, graph->inverted);
	if (graph->before)
		printing.before_weights = weigh(&graph->tree, graph->before, graph->inverted);
	printing.hidden = calloc(count, sizeof *printing.hidden);
	printing.ids = calloc(count, sizeof *printing.ids);
	if (!printing.weights || !printing.hidden || !printing.ids || (graph->before && !printing.before_weights))
		goto done;
	if (ada_tree_sort(&graph->tree, compare_siblings, &printing) || hide(&printing))
		goto done;
	choose_columns(&printing);
	ada_rows_open(&printing.rows, output, graph->format, "rows", printing.columns, printing.column_count);
	result = put_rows(&printing);
	ada_rows_close(&printing.rows);
	if (!result && graph->format == ADA_FORMAT_TEXT) {
		ada_output_string(output, printing.rows.row_count ? "\n" : "");
		put_hidden(&printing, output);
	} else if (!result && graph->format == ADA_FORMAT_JSON) {
		ada_output_string(output, graph->tree.cut ? "\"paths_merged\": true,\n" : "\"paths_merged\": false,\n");
	}
done:
	free(printing.weights);
	free(printing.before_weights);
	free(printing.hidden);
	free(printing.ids);
	free(printing.text);
	return result;
}
