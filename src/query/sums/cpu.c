/* Time on and off the CPU by function: workers take whole threads, and each adds up what it meets. */
#include "query/sums/cpu.h"
#include <errno.h>
#include <stdlib.h>
#include "atf/sched/sched_list.h"
#include "base/hash.h"
#include "query/calls/scan.h"
#include "query/session/sched.h"

struct function {
	uint64_t key;
	uint64_t active;	/* calls open on the thread being read */
	uint64_t on_ns, off_ns; /* of the calls that are known */
	uint64_t total_ns;	/* as of ada_function_stats, of the same */
};

struct worker {
	struct ada_scan scan;
	const struct ada_sched_thread *sched; /* of the thread being read; NULL: nothing is known */
	struct ada_table numbers;	      /* of functions, by key */
	ADA_ARRAY(struct function) functions;
};

static void begin_thread(struct ada_scan *scan)
{
	((struct worker *)scan)->sched = ada_sched_of(scan->thread);
}

/* What a call remembers: its function's number plus 1, and in the lowest bit whether it is the outermost of its function. */
static struct function *function_of(const struct worker *worker, const struct ada_call *call)
{
	return &worker->functions.items[((uintptr_t)call->user >> 1) - 1];
}

static void count_begun(struct ada_scan *scan, struct ada_call *call)
{
	struct worker *worker = (struct worker *)scan;
	uint64_t key = ada_process_function_key(scan->thread->process, call->function_id), number;

	if (!ada_table_get(&worker->numbers, key, &number)) {
		number = worker->functions.count;
		if (ada_array_push(&worker->functions, (struct function){ .key = key }) || ada_table_put(&worker->numbers, key, number)) {
			scan->result = -ENOMEM;
			return;
		}
	}
	call->user = (void *)((number + 1) << 1 | !worker->functions.items[number].active++);
}

static void count_set_aside(struct ada_scan *scan, struct ada_call *call)
{
	function_of((struct worker *)scan, call)->active--;
}

static void count_ended(struct ada_scan *scan, const struct ada_call *call)
{
	struct worker *worker = (struct worker *)scan;
	struct function *function = function_of(worker, call);
	uint64_t off_ns;

	if (!call->aside)
		function->active--;
	if (call->outcome == ADA_OUTCOME_UNKNOWN || !((uintptr_t)call->user & 1) ||
	    !ada_sched_off_ns(worker->sched, call->start_ns, call->end_ns, &off_ns))
		return;
	function->on_ns += call->end_ns - call->start_ns - off_ns;
	function->off_ns += off_ns;
	function->total_ns += ada_call_duration(call);
}

/* --- adding up -------------------------------------------------------------------------------------------------------- */

static int compare_keys(const void *left, const void *right)
{
	const struct function *a = left, *b = right;

	return a->key < b->key ? -1 : a->key > b->key;
}

/* Both are in order of their keys. What a function's known calls sum up to is less than its total where others are not known. */
static void take_functions(struct ada_stats *stats, struct function *functions, size_t count)
{
	size_t next = 0;

	if (count)
		qsort(functions, count, sizeof *functions, compare_keys);
	for (size_t i = 0; i < stats->functions.count; i++) {
		struct ada_function_stats *of = stats->functions.items[i];
		uint64_t total_ns = 0;

		next = ada_first_not(k, 0, count, functions[k].key < of->key);
		for (; next < count && functions[next].key == of->key; next++) {
			of->on_ns += functions[next].on_ns;
			of->off_ns += functions[next].off_ns;
			total_ns += functions[next].total_ns;
			of->cpu_known = true;
		}
		of->cpu_known &= total_ns == of->total_ns;
	}
}

static int add_up(struct ada_stats *stats, const struct worker *crew, unsigned int workers)
{
	ADA_ARRAY(struct function) all = {};
	int result = 0;

	for (unsigned int i = 0; i < workers && !result; i++)
		for (size_t j = 0; j < crew[i].functions.count && !result; j++)
			result = ada_array_push(&all, crew[i].functions.items[j]);
	if (!result)
		take_functions(stats, all.items, all.count);
	ada_array_free(&all);
	return result;
}

int ada_stats_add_cpu(struct ada_stats *stats, const struct ada_selection *selection, struct ada_error *error)
{
	static const struct ada_scan_receiver receiver = {
		.thread = begin_thread, .begun = count_begun, .set_aside = count_set_aside, .ended = count_ended
	};
	unsigned int count = ada_scan_workers(selection, 0);
	struct ada_completeness completeness;
	struct worker *crew;
	int result;

	if (!atf_sched_list_count(ada_sched_records(selection->session)))
		return 0;
	crew = calloc(count, sizeof *crew);
	if (!crew)
		return ada_error_system(error, ENOMEM, "%s", selection->session->path);
	result = ada_scan_run(selection, &receiver, crew, sizeof *crew, count, &completeness, error);
	if (!result && add_up(stats, crew, count))
		result = ada_error_system(error, ENOMEM, "%s", selection->session->path);
	for (unsigned int i = 0; i < count; i++) {
		ada_array_free(&crew[i].functions);
		ada_table_free(&crew[i].numbers);
	}
	free(crew);
	return result;
}
