/* Two recordings side by side. Functions are matched by the file name of their module and their mangled name, so that another build of
 * the same program compares; nameless ones by their address, in the same build alone. Functions of one name in a module (static
 * ones of several files) are one. */
#ifndef ADA_QUERY_DIFF_H
#define ADA_QUERY_DIFF_H
#include "query/sums/tree.h"
#include "query/tally/stats.h"

struct ada_difference {
	struct ada_module *module; /* of this recording, or, where the function is gone, of the one before */
	uint64_t function_id;
	const struct ada_function_stats *now, *before; /* NULL: not called there */
};

struct ada_diff {
	ADA_ARRAY(struct ada_difference) functions;
}; /* in no order */

/* Adds up, in place, the statistics of functions that count as one; the diff points into both. 0 or -ENOMEM. */
int ada_diff_stats(struct ada_diff *diff, struct ada_stats *now, struct ada_stats *before);
void ada_diff_free(struct ada_diff *diff);

/* Makes `now` a tree with the paths of both, and tells what each of its nodes counts in `before`: an array that the caller frees. The
 * tree's own counts and order stay those of `now`. 0 or -ENOMEM. */
int ada_diff_trees(struct ada_tree *now, const struct ada_tree *before, struct ada_tree_node **counts);
/* Marks the nodes of functions that were muted in one of the two selections for some of the time: what their calls changed by isn't known.
 * 0 or -ENOMEM. */
int ada_diff_mark_muted(struct ada_tree *tree, const struct ada_selection selections[2]);
#endif
