/* Who calls whom: for each pair (caller, callee) how often and for how long. Rules of stats.h; the caller is the innermost open
 * call of the thread that is recorded. Memory grows with the pairs. */
#ifndef ADA_QUERY_EDGES_H
#define ADA_QUERY_EDGES_H
#include "query/calls.h"
#include "query/selection.h"

struct ada_edge {
	struct ada_module *caller_module, *callee_module;	/* NULL: not known */
	uint64_t caller_id, callee_id;	/* function ids in one of the processes; caller_id ADA_NO_FUNCTION: outermost calls */
	uint64_t caller_key, callee_key;
	uint64_t calls, unknown;
	uint64_t total_ns, self_ns;	/* of the callee's calls from this caller */
	const struct ada_thread *thread;	/* of the first such call by time, and where it is: */
	uint64_t first_ns, first_position;
};

struct ada_edges {
	ADA_ARRAY(struct ada_edge) edges;	/* by caller_key, callee_key */
	struct ada_completeness completeness;
};

int ada_edges_compute(struct ada_edges *edges, const struct ada_selection *selection, unsigned int workers,
		      struct ada_error *error);
void ada_edges_free(struct ada_edges *edges);
#endif
