/* Who calls whom: for each pair (caller, callee) how often and for how long. The caller is the thread's innermost recorded call that is
 * open, also one that began before the selection did.
 *
 * Rules of stats.h:
 *   calls      the callee's calls that this caller made
 *   unknown    those of them without a known end: they count in nothing else
 *   total_ns   of those that are not below another call of the callee on the same thread, so that of fib, which main calls and
 *              which calls itself, main's edge has the whole total and fib's own none
 *   self_ns    without the calls directly below
 * So each number, summed over a callee's callers, is exactly what stats.h says of the callee. Memory grows with the pairs.
 */
#ifndef ADA_QUERY_EDGES_H
#define ADA_QUERY_EDGES_H
#include "query/calls/calls.h"
#include "query/session/selection.h"

struct ada_edge {
	struct ada_module *caller_module, *callee_module; /* NULL: not known */
	uint64_t caller_id, callee_id;	 /* function ids in one of the processes; caller_id ADA_NO_FUNCTION: outermost calls */
	uint64_t caller_key, callee_key; /* ada_process_function_key; no caller: ADA_NO_FUNCTION */
	uint64_t calls, unknown;
	uint64_t total_ns, self_ns; /* of the callee's calls from this caller */
	/* The first of these calls by time; of several at the same time, the one of the first thread in the session. */
	const struct ada_thread *thread;
	uint64_t first_ns, first_position;
};

struct ada_edges {
	ADA_ARRAY(struct ada_edge) edges; /* by caller_key, callee_key */
	struct ada_completeness completeness;
};

int ada_edges_compute(struct ada_edges *edges, const struct ada_selection *selection, unsigned int workers, struct ada_error *error);
void ada_edges_free(struct ada_edges *edges);
#endif
