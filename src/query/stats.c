/* Statistics per function. Each worker takes a thread of the recording at a time and counts into functions of its own,
 * which are added up at the end: nothing is shared meanwhile but the number of the next thread. Memory grows with the
 * functions called, not with the calls. */
#include "query/stats.h"
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/sysinfo.h>
#include "base/hash.h"
#include "query/calls.h"

#define WORKERS_MAX 64

struct counter {			/* functions by their key */
	struct ada_table numbers;
	ADA_ARRAY(struct ada_function_stats *) functions;
};

struct job {
	const struct ada_selection *selection;
	atomic_size_t next;
	uint64_t *lost;			/* by thread of the selection */
};

struct worker {
	struct job *job;
	pthread_t thread;
	struct counter counter;
	const struct ada_process *process;	/* of the thread being read */
	uint64_t to_ns;
	uint64_t events;
	uint64_t open;			/* counted calls that have not ended */
	int result;
};

static struct ada_function_stats *find_function(struct counter *counter, const struct ada_process *process, uint64_t id)
{
	uint64_t key = ada_process_function_key(process, id), number;
	struct ada_function_stats *function;

	if (ada_table_get(&counter->numbers, key, &number))
		return counter->functions.items[number];
	function = calloc(1, sizeof *function);
	if (!function)
		return NULL;
	function->module = ada_process_module(process, id);
	function->function_id = id;
	number = counter->functions.count;
	if (ada_array_push(&counter->functions, function)) {
		free(function);
		return NULL;
	}
	return ada_table_put(&counter->numbers, key, number) ? NULL : function;
}

static void count_begun(void *context, struct ada_call *call)
{
	struct worker *worker = context;
	struct ada_function_stats *function;

	if (call->start_ns >= worker->to_ns)
		return;
	function = find_function(&worker->counter, worker->process, call->function_id);
	if (!function) {
		worker->result = -ENOMEM;
		return;
	}
	function->calls++;
	worker->open++;
	/* Only the outermost call adds to the total; the lowest bit of the pointer remembers which it is. */
	call->user = (void *)((uintptr_t)function | !function->active++);
}

static struct ada_function_stats *function_of(const struct ada_call *call)
{
	return (struct ada_function_stats *)((uintptr_t)call->user & ~(uintptr_t)1);
}

static void count_set_aside(void *context, struct ada_call *call)
{
	struct ada_function_stats *function = function_of(call);

	if (function)
		function->active--;
}

static void count_ended(void *context, const struct ada_call *call)
{
	struct ada_function_stats *function = function_of(call);
	uint64_t duration_ns = call->end_ns - call->start_ns;
	struct worker *worker = context;

	if (!function)
		return;
	worker->open--;
	if (!call->aside)
		function->active--;
	if (call->outcome == ADA_OUTCOME_UNKNOWN) {
		function->unknown++;
		return;
	}
	if ((uintptr_t)call->user & 1)
		function->total_ns += duration_ns;
	function->self_ns += duration_ns > call->children_ns ? duration_ns - call->children_ns : 0;
	if (!call->across_loss && ada_histogram_add(&function->durations, duration_ns))
		worker->result = -ENOMEM;
}

/* The events of the time asked for, and then on until the calls begun in it have ended. */
static void count_thread(struct worker *worker, struct ada_calls *calls, size_t number)
{
	const struct ada_selection *selection = worker->job->selection;
	const struct ada_thread *thread = selection->threads.items[number];
	uint64_t *lost = &worker->job->lost[number];
	uint64_t position;

	if (!thread->events)
		return;
	worker->process = thread->process;
	worker->to_ns = selection->to_ns;
	worker->open = 0;
	position = selection->from_ns ? atf_thread_lower_bound(thread->events, selection->from_ns) : 0;
	for (; position < thread->count && !worker->result; position++) {
		const struct ada_event *event = atf_thread_get(thread->events, position);

		if (event->timestamp_ns < selection->to_ns) {
			worker->events++;
			if (event->event_kind == ADA_EVENT_LOST)
				*lost += event->function_id;
		} else if (!worker->open) {
			break;
		}
		if (ada_calls_feed(calls, event, position))
			worker->result = -ENOMEM;
	}
	ada_calls_end(calls);
}

static void *work(void *context)
{
	struct worker *worker = context;
	struct job *job = worker->job;
	struct ada_calls calls;
	size_t number;

	ada_calls_open(&calls, &(struct ada_calls_receiver){
		.context = worker, .begun = count_begun, .set_aside = count_set_aside, .ended = count_ended });
	while (!worker->result && (number = atomic_fetch_add(&job->next, 1)) < job->selection->threads.count)
		count_thread(worker, &calls, number);
	ada_calls_close(&calls);
	return NULL;
}

static void free_counter(struct counter *counter)
{
	for (size_t i = 0; i < counter->functions.count; i++) {
		if (!counter->functions.items[i])	/* moved into the sum */
			continue;
		ada_histogram_free(&counter->functions.items[i]->durations);
		free(counter->functions.items[i]);
	}
	ada_array_free(&counter->functions);
	ada_table_free(&counter->numbers);
}

static uint64_t key_of(const struct ada_session *session, const struct ada_function_stats *function)
{
	uint64_t number = function->module ? function->module->number :
					     session->modules.count + ADA_FUNCTION_MODULE(function->function_id);

	return number << 32 | ADA_FUNCTION_SYMBOL(function->function_id);
}

/* Adds `from` to `into`; functions that `into` has not seen move over. */
static int merge(struct counter *into, struct counter *from, const struct ada_session *session)
{
	int result = 0;

	for (size_t i = 0; i < from->functions.count && !result; i++) {
		struct ada_function_stats *function = from->functions.items[i], *sum;
		uint64_t key = key_of(session, function), number;

		if (!ada_table_get(&into->numbers, key, &number)) {
			number = into->functions.count;
			result = ada_array_push(&into->functions, function);
			if (!result)
				from->functions.items[i] = NULL;
			if (!result)
				result = ada_table_put(&into->numbers, key, number);
			continue;
		}
		sum = into->functions.items[number];
		sum->calls += function->calls;
		sum->unknown += function->unknown;
		sum->total_ns += function->total_ns;
		sum->self_ns += function->self_ns;
		result = ada_histogram_merge(&sum->durations, &function->durations);
	}
	return result;
}

static unsigned int run_workers(struct worker *workers, unsigned int count)
{
	unsigned int started = 1;

	while (started < count && !pthread_create(&workers[started].thread, NULL, work, &workers[started]))
		started++;
	/* This thread is the first worker: with no other, one does it all. */
	work(&workers[0]);
	for (unsigned int i = 1; i < started; i++)
		pthread_join(workers[i].thread, NULL);
	return started;
}

int ada_stats_compute(struct ada_stats *stats, const struct ada_selection *selection, unsigned int workers,
		      struct ada_error *error)
{
	struct worker crew[WORKERS_MAX] = {};
	struct job job = { .selection = selection, .lost = calloc(selection->threads.count + 1, sizeof *job.lost) };
	struct counter sum = {};
	uint64_t events = 0;
	int result = job.lost ? 0 : -ENOMEM;

	*stats = (struct ada_stats){};
	if (!workers)
		workers = get_nprocs();
	if (workers > selection->threads.count)
		workers = selection->threads.count;
	if (workers > WORKERS_MAX)
		workers = WORKERS_MAX;
	for (unsigned int i = 0; i < WORKERS_MAX; i++)
		crew[i].job = &job;
	workers = result || !workers ? 0 : run_workers(crew, workers);
	for (unsigned int i = 0; i < workers; i++) {
		events += crew[i].events;
		if (!result)
			result = crew[i].result;
		if (!result)
			result = merge(&sum, &crew[i].counter, selection->session);
		free_counter(&crew[i].counter);
	}
	if (result) {
		free_counter(&sum);
		result = ada_error_system(error, -result, "%s", selection->session->path);
	} else {
		ada_table_free(&sum.numbers);
		stats->functions.items = sum.functions.items;
		stats->functions.count = sum.functions.count;
		stats->functions.capacity = sum.functions.capacity;
		stats->completeness = ada_selection_completeness(selection, true, events, job.lost);
	}
	free(job.lost);
	return result;
}

void ada_stats_free(struct ada_stats *stats)
{
	struct counter counter = { .functions = { stats->functions.items, stats->functions.count, stats->functions.capacity } };

	free_counter(&counter);
	*stats = (struct ada_stats){};
}
