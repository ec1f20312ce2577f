/* Functions being counted. */
#include "query/tally/counter.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int ada_counter_open(struct ada_counter *counter)
{
	*counter = (struct ada_counter){ .cache = calloc(ADA_COUNTER_PLACES, sizeof *counter->cache), .cache_is_own = true };
	return counter->cache ? 0 : -ENOMEM;
}

void ada_counter_open_with(struct ada_counter *counter, struct ada_counter_place *cache)
{
	memset(cache, 0, ADA_COUNTER_PLACES * sizeof *cache);
	*counter = (struct ada_counter){ .cache = cache };
}

void ada_counter_take_cache(struct ada_counter *counter)
{
	counter->cache = NULL;
}

void ada_counter_process(struct ada_counter *counter, const struct ada_process *process)
{
	/* In another process the same id is another function. */
	if (counter->process && counter->process != process)
		memset(counter->cache, 0, ADA_COUNTER_PLACES * sizeof *counter->cache);
	counter->process = process;
}

static int stats_add(struct ada_counter *counter, struct ada_function_stats *function)
{
	uint64_t number = counter->functions.count;
	int result = ada_array_push(&counter->functions, function);

	if (!result)
		result = ada_table_put(&counter->numbers, function->key, number);
	if (result)
		counter->functions.count = number;
	return result;
}

struct ada_function_stats *ada_counter_look_up(struct ada_counter *counter, uint64_t function_id)
{
	uint64_t key = ada_process_function_key(counter->process, function_id), number;
	struct ada_function_stats *function;

	if (ada_table_get(&counter->numbers, key, &number))
		return counter->functions.items[number];
	function = aligned_alloc(_Alignof(struct ada_function_stats), sizeof *function);
	if (!function)
		return NULL;
	*function = (struct ada_function_stats){ .key = key,
						 .module = ada_process_module(counter->process, function_id),
						 .function_id = function_id };
	if (!stats_add(counter, function))
		return function;
	free(function);
	return NULL;
}

int ada_counter_merge(struct ada_counter *into, struct ada_counter *from)
{
	int result = 0;

	for (size_t i = 0; i < from->functions.count && !result; i++) {
		struct ada_function_stats *function = from->functions.items[i], *sum;
		uint64_t number;

		if (!function || (!function->calls && !function->durations.count)) /* only looked for, or open */
			continue;
		if (!ada_table_get(&into->numbers, function->key, &number)) {
			result = stats_add(into, function);
			if (!result)
				from->functions.items[i] = NULL;
			function->active = 0;
			continue;
		}
		sum = into->functions.items[number];
		sum->calls += function->calls;
		sum->unknown += function->unknown;
		sum->total_ns += function->total_ns;
		sum->self_ns += function->self_ns;
		/* Of several processes' ids for the function always keep the same, whichever thread was counted first. */
		if (function->function_id < sum->function_id)
			sum->function_id = function->function_id;
		result = ada_histogram_merge(&sum->durations, &function->durations);
	}
	return result;
}

void ada_counter_close(struct ada_counter *counter)
{
	for (size_t i = 0; i < counter->functions.count; i++) {
		if (!counter->functions.items[i]) /* moved into another counter */
			continue;
		ada_histogram_free(&counter->functions.items[i]->durations);
		free(counter->functions.items[i]);
	}
	ada_array_free(&counter->functions);
	ada_table_free(&counter->numbers);
	if (counter->cache_is_own)
		free(counter->cache);
	counter->cache = NULL;
}
