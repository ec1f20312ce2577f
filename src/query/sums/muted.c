#include "query/sums/muted.h"
#include <errno.h>
#include <stdlib.h>
#include "base/hash.h"
#include "query/sums/edges.h"

const char *ada_muted_text(unsigned int muted)
{
	static const char *const texts[] = { NULL, "calls", "self", "calls, self", NULL, "uncontended", "self", "uncontended, self" };

	return texts[muted & (ADA_MUTED_CALLS | ADA_MUTED_SELF | ADA_MUTED_UNCONTENDED)];
}

static int add_function(struct ada_stats *stats, const struct ada_process *process, uint64_t function_id, uint64_t key, unsigned int how)
{
	struct ada_function_stats *function = aligned_alloc(_Alignof(struct ada_function_stats), sizeof *function);

	if (!function)
		return -ENOMEM;
	*function = (struct ada_function_stats){
		.module = ada_process_module(process, function_id), .function_id = function_id, .key = key, .muted = how
	};
	if (!ada_array_push(&stats->functions, function))
		return 0;
	free(function);
	return -ENOMEM;
}

/* The functions' positions by their keys. */
static int number_functions(struct ada_table *positions, const struct ada_stats *stats)
{
	int result = 0;

	for (size_t i = 0; i < stats->functions.count && !result; i++)
		result = ada_table_put(positions, stats->functions.items[i]->key, i);
	return result;
}

static int mark_process(struct ada_stats *stats, struct ada_table *positions, const struct ada_process *process, uint64_t from_ns,
			uint64_t to_ns)
{
	struct ada_muted muted;

	for (size_t i = 0; ada_process_muted(process, i, &muted); i++) {
		uint64_t key = ada_process_function_key(process, muted.function_id), position;
		unsigned int how = ADA_MUTED_CALLS | (muted.filtered ? ADA_MUTED_UNCONTENDED : 0);

		if (!ada_muted_within(&muted, from_ns, to_ns))
			continue;
		stats->muted = true;
		if (ada_table_get(positions, key, &position))
			stats->functions.items[position]->muted |= how;
		else if (ada_table_put(positions, key, stats->functions.count) || add_function(stats, process, muted.function_id, key, how))
			return -ENOMEM;
	}
	return 0;
}

/* Threads of a process stand one behind the other. */
static int mark_selected(struct ada_stats *stats, struct ada_table *positions, const struct ada_selection *selection)
{
	const struct ada_process *last = NULL;
	int result = 0;

	for (size_t i = 0; i < selection->threads.count && !result; i++) {
		const struct ada_process *process = selection->threads.items[i]->process;

		if (process != last)
			result = mark_process(stats, positions, process, selection->from_ns, selection->to_ns);
		last = process;
	}
	return result;
}

static int mark_callers(struct ada_stats *stats, const struct ada_table *positions, const struct ada_session *session,
			struct ada_error *error)
{
	struct ada_selection all = {};
	struct ada_edges edges = {};
	int result = ada_selection_open(&all, session, NULL, NULL, NULL, error);

	if (!result)
		result = ada_edges_compute(&edges, &all, 0, error);
	for (size_t i = 0; i < edges.edges.count; i++) {
		const struct ada_edge *edge = &edges.edges.items[i];
		uint64_t caller, callee;

		/* Of a muted function that calls itself, the calls that are missing were those that it made, too. */
		if (ada_table_get(positions, edge->callee_key, &callee) && ada_table_get(positions, edge->caller_key, &caller) &&
		    stats->functions.items[callee]->muted & ADA_MUTED_CALLS)
			stats->functions.items[caller]->muted |= ADA_MUTED_SELF;
	}
	ada_edges_free(&edges);
	ada_selection_close(&all);
	return result;
}

int ada_stats_mark_muted(struct ada_stats *stats, const struct ada_selection *selection, struct ada_error *error)
{
	struct ada_table positions = {};
	int result;

	if (!stats->completeness.muted)
		return 0;
	result = number_functions(&positions, stats);
	if (!result)
		result = mark_selected(stats, &positions, selection);
	if (result)
		ada_error_set(error, -result, "out of memory");
	else
		result = mark_callers(stats, &positions, selection->session, error);
	ada_table_free(&positions);
	return result;
}
