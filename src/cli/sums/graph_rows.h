/* What `ada graph` shows of a call tree. */
#ifndef ADA_CLI_GRAPH_ROWS_H
#define ADA_CLI_GRAPH_ROWS_H
#include "base/output.h"
#include "query/sums/tree.h"

enum ada_graph_sort { ADA_GRAPH_TOTAL, ADA_GRAPH_SELF, ADA_GRAPH_CALLS };

struct ada_graph {
	struct ada_tree tree;
	struct ada_tree_node *before;	/* --diff: what each node counts in the other recording; NULL: no comparison */
	uint64_t run_ns, before_run_ns; /* of all outermost calls: 100 % */
	enum ada_format format;
	enum ada_graph_sort sort;
	bool inverted; /* callers lie below */
	bool source;
	bool of_function;   /* of --function alone: min_percent is of that function's time, else of the run's */
	double min_percent; /* branches below it are not shown */
	uint32_t depth;	    /* calls below each other, at most */
	uint64_t limit;	    /* rows, the heaviest */
};

/* Time of a tree: of its outermost calls or, for those without a known time, of the calls below. 0 or -ENOMEM. */
int ada_graph_run_ns(const struct ada_tree *tree, uint64_t *run_ns);
/* What each node weighs, an array for the caller to free: its total time or, where that isn't known, that of the calls below. NULL: no
 * memory. */
uint64_t *ada_graph_weights(const struct ada_tree *tree);
const char *ada_graph_cut(const struct ada_graph *graph); /* what to say where tree.cut is set */
/* Puts the rows, in JSON `"rows": [...], "paths_merged": ...`, and in text says what is not shown. Sorts the tree. 0, -ENOMEM, or
 * -EINTR. */
int ada_graph_put(struct ada_graph *graph, struct ada_output *output);
#endif
