/* Callers and callees. Each worker numbers the functions that it meets; an edge is found by the numbers of its two ends. */
#include "query/sums/edges.h"
#include <errno.h>
#include <stdlib.h>
#include "base/hash.h"
#include "query/calls/scan.h"

struct function {
	struct ada_module *module;
	uint64_t id, key;
	uint64_t active;  /* calls open on the thread being read */
	size_t last_edge; /* found last with it as the caller, plus 1 */
};

struct edge {
	struct ada_edge of;
	size_t caller, callee; /* numbers of functions */
};

struct worker {
	struct ada_scan scan;
	struct ada_table numbers;	      /* of functions, by key */
	ADA_ARRAY(struct function) functions; /* the first stands for no function: the caller of outermost calls */
	struct ada_table places;	      /* of edges, by both numbers */
	ADA_ARRAY(struct edge) edges;
};

#define NONE SIZE_MAX

/* --- finding ---------------------------------------------------------------------------------------------------------- */

static size_t find_function(struct worker *worker, uint64_t id)
{
	const struct ada_process *process = worker->scan.thread->process;
	uint64_t key = ada_process_function_key(process, id), number;

	if (ada_table_get(&worker->numbers, key, &number))
		return number;
	number = worker->functions.count;
	if (ada_array_push(&worker->functions, (struct function){ .module = ada_process_module(process, id), .id = id, .key = key }) ||
	    ada_table_put(&worker->numbers, key, number))
		return NONE;
	return number;
}

static size_t add_edge(struct worker *worker, size_t caller, size_t callee)
{
	const struct function *from = &worker->functions.items[caller], *to = &worker->functions.items[callee];
	struct edge edge = {
		.of = { .caller_module = from->module,
			.callee_module = to->module,
			.caller_id = from->id,
			.callee_id = to->id,
			.caller_key = from->key,
			.callee_key = to->key,
			.first_ns = UINT64_MAX },
		.caller = caller,
		.callee = callee,
	};
	size_t number = worker->edges.count;

	if (ada_array_push(&worker->edges, edge) || ada_table_put(&worker->places, (uint64_t)caller << 32 | callee, number))
		return NONE;
	return number;
}

static size_t find_edge(struct worker *worker, size_t caller, uint64_t callee_id)
{
	uint64_t key = ada_process_function_key(worker->scan.thread->process, callee_id), number;
	size_t last = worker->functions.items[caller].last_edge, callee;

	if (last && worker->edges.items[last - 1].of.callee_key == key)
		return last - 1;
	callee = find_function(worker, callee_id);
	if (callee == NONE)
		return NONE;
	if (!ada_table_get(&worker->places, (uint64_t)caller << 32 | callee, &number))
		number = add_edge(worker, caller, callee);
	if (number != NONE)
		worker->functions.items[caller].last_edge = number + 1;
	return number;
}

/* --- counting --------------------------------------------------------------------------------------------------------- */

/* What a call remembers: its edge, and in the lowest bit whether it is the outermost of its function. */
static struct edge *edge_of(const struct worker *worker, const struct ada_call *call)
{
	return &worker->edges.items[((uintptr_t)call->user >> 1) - 1];
}

static struct function *callee_of(const struct worker *worker, const struct ada_call *call)
{
	return &worker->functions.items[edge_of(worker, call)->callee];
}

/* Who made a call: another call of the selection, or the innermost from before it, or no one. */
static size_t find_caller(struct worker *worker, const struct ada_call *call)
{
	const struct ada_call *caller = ada_scan_caller(&worker->scan, call);
	const struct ada_stack *above = &worker->scan.above;

	if (caller)
		return edge_of(worker, caller)->callee;
	if (above->frames.count)
		return find_function(worker, above->frames.items[above->frames.count - 1].function_id);
	return 0;
}

static void begin_thread(struct ada_scan *scan)
{
	struct worker *worker = (struct worker *)scan;

	if (!worker->functions.count &&
	    ada_array_push(&worker->functions, (struct function){ .id = ADA_NO_FUNCTION, .key = ADA_NO_FUNCTION }))
		scan->result = -ENOMEM;
}

static void count_begun(struct ada_scan *scan, struct ada_call *call)
{
	struct worker *worker = (struct worker *)scan;
	size_t caller = find_caller(worker, call), number = NONE;
	struct ada_edge *edge;

	if (caller != NONE)
		number = find_edge(worker, caller, call->function_id);
	if (number == NONE) {
		scan->result = -ENOMEM;
		return;
	}
	edge = &worker->edges.items[number].of;
	edge->calls++;
	if (call->start_ns < edge->first_ns || (call->start_ns == edge->first_ns && scan->thread < edge->thread)) {
		edge->first_ns = call->start_ns;
		edge->first_position = call->position;
		edge->thread = scan->thread;
	}
	call->user = (void *)((number + 1) << 1 | !worker->functions.items[worker->edges.items[number].callee].active++);
}

static void count_set_aside(struct ada_scan *scan, struct ada_call *call)
{
	callee_of((struct worker *)scan, call)->active--;
}

static void count_ended(struct ada_scan *scan, const struct ada_call *call)
{
	struct worker *worker = (struct worker *)scan;
	struct ada_edge *edge = &edge_of(worker, call)->of;
	uint64_t duration_ns = ada_call_duration(call);

	if (!call->aside)
		callee_of(worker, call)->active--;
	if (call->outcome == ADA_OUTCOME_UNKNOWN) {
		edge->unknown++;
		return;
	}
	if ((uintptr_t)call->user & 1)
		edge->total_ns += duration_ns;
	edge->self_ns += ada_call_self(call);
}

/* --- adding up -------------------------------------------------------------------------------------------------------- */

static int compare_edges(const void *left, const void *right)
{
	const struct ada_edge *a = left, *b = right;

	if (a->caller_key != b->caller_key)
		return a->caller_key < b->caller_key ? -1 : 1;
	return a->callee_key < b->callee_key ? -1 : a->callee_key > b->callee_key;
}

static void edge_add(struct ada_edge *sum, const struct ada_edge *edge)
{
	sum->calls += edge->calls;
	sum->unknown += edge->unknown;
	sum->total_ns += edge->total_ns;
	sum->self_ns += edge->self_ns;
	if (edge->first_ns < sum->first_ns || (edge->first_ns == sum->first_ns && edge->thread < sum->thread)) {
		sum->first_ns = edge->first_ns;
		sum->first_position = edge->first_position;
		sum->thread = edge->thread;
	}
}

/* Brings the workers' edges in order, and makes one of those of the same pair. */
static int add_up(struct ada_edges *edges, const struct worker *crew, unsigned int workers)
{
	size_t kept = 0;

	for (unsigned int i = 0; i < workers; i++)
		for (size_t j = 0; j < crew[i].edges.count; j++)
			if (ada_array_push(&edges->edges, crew[i].edges.items[j].of))
				return -ENOMEM;
	if (edges->edges.count)
		qsort(edges->edges.items, edges->edges.count, sizeof *edges->edges.items, compare_edges);
	for (size_t i = 0; i < edges->edges.count; i++) {
		const struct ada_edge *edge = &edges->edges.items[i];

		if (kept && !compare_edges(&edges->edges.items[kept - 1], edge))
			edge_add(&edges->edges.items[kept - 1], edge);
		else
			edges->edges.items[kept++] = *edge;
	}
	edges->edges.count = kept;
	return 0;
}

int ada_edges_compute(struct ada_edges *edges, const struct ada_selection *selection, unsigned int workers, struct ada_error *error)
{
	static const struct ada_scan_receiver receiver = {
		.thread = begin_thread, .begun = count_begun, .set_aside = count_set_aside, .ended = count_ended
	};
	unsigned int count = ada_scan_workers(selection, workers);
	struct worker *crew = calloc(count, sizeof *crew);
	int result;

	*edges = (struct ada_edges){};
	if (!crew)
		return ada_error_system(error, ENOMEM, "%s", selection->session->path);
	result = ada_scan_run(selection, &receiver, crew, sizeof *crew, count, &edges->completeness, error);
	if (!result && add_up(edges, crew, count))
		result = ada_error_system(error, ENOMEM, "%s", selection->session->path);
	for (unsigned int i = 0; i < count; i++) {
		ada_array_free(&crew[i].edges);
		ada_array_free(&crew[i].functions);
		ada_table_free(&crew[i].places);
		ada_table_free(&crew[i].numbers);
	}
	free(crew);
	if (result)
		ada_edges_free(edges);
	return result;
}

void ada_edges_free(struct ada_edges *edges)
{
	ada_array_free(&edges->edges);
}
