#include "query/tally/totals.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "atf/pack/model.h"
#include "atf/session/thread.h"
#include "query/calls/stack.h"
#include "query/tally/tally_internal.h"

static_assert(ATF_TOTALS_BUCKETS == ADA_HISTOGRAM_OCTAVES * ADA_HISTOGRAM_BUCKETS, "buckets of totals are those of histograms");

/* --- from a file -------------------------------------------------------------------------------------------------------- */

/* The open calls count, with their functions. */
static int take_calls(struct ada_tally *tally, const AtfTotalsCall *items)
{
	struct ada_calls *calls = &tally->calls;

	for (size_t i = 0; i < calls->stack.count + calls->aside.count; i++) {
		bool aside = i >= calls->stack.count;
		struct ada_call *call = aside ? &calls->aside.items[i - calls->stack.count] : &calls->stack.items[i];
		struct ada_function_stats *function = ada_tally_find(tally, call->function_id);

		if (!function)
			return -ENOMEM;
		call->user = aside ? (void *)((uintptr_t)function | (items[i].flags & ATF_TOTALS_ADDS)) :
				     (void *)ada_tally_remember(function);
	}
	return 0;
}

static int take_function(struct ada_tally *tally, const AtfTotalsFunction *from, const uint8_t *buckets)
{
	struct atf_pack_reader reader = { buckets, buckets + from->bucket_bytes, false };
	struct ada_function_stats *function = ada_tally_find(tally, from->function_id);
	struct ada_histogram *durations;
	uint64_t number = 0;
	int result = function ? 0 : -ENOMEM;

	if (result)
		return result;
	durations = &function->durations;
	function->calls += from->calls;
	function->unknown += from->unknown;
	function->total_ns += from->total_ns;
	function->self_ns += from->self_ns;
	if (from->count && (!durations->count || from->min_ns < durations->min))
		durations->min = from->min_ns;
	if (from->max_ns > durations->max)
		durations->max = from->max_ns;
	durations->count += from->count;
	durations->sum += from->sum_ns;
	for (uint32_t i = 0; i < from->bucket_count && !reader.bad && !result; i++) {
		uint64_t count;

		number += atf_pack_get(&reader);
		count = atf_pack_get(&reader);
		if (number < ATF_TOTALS_BUCKETS)
			result = ada_histogram_more(durations, (unsigned int)number, count);
	}
	return result;
}

static int take_functions(struct ada_tally *tally, const AtfTotalsHeader *header, const uint8_t *bytes)
{
	int result = 0;

	for (uint32_t i = 0; i < header->function_count && !result; i++) {
		const AtfTotalsFunction *function = (const AtfTotalsFunction *)bytes;

		bytes += sizeof *function;
		result = take_function(tally, function, bytes);
		bytes += function->bucket_bytes;
	}
	return result;
}

int ada_totals_add(struct ada_tally *tally, const AtfTotalsHeader *header, bool counts)
{
	int result = ada_calls_resume(&tally->calls, header);
	const AtfTotalsCall *open;

	tally->rooted |= header != NULL; /* all calls that are open are known */
	if (!header || result || !counts)
		return result;
	open = (const AtfTotalsCall *)(header + 1);
	tally->lost += header->told;
	result = take_calls(tally, open);
	return result ? result : take_functions(tally, header, (const uint8_t *)(open + header->open_count + header->aside_count));
}

int ada_totals_take(struct ada_tally *tally, bool counts)
{
	return tally->thread->events ? ada_totals_add(tally, atf_thread_totals(tally->thread->events), counts) : 0;
}

/* --- to a file ---------------------------------------------------------------------------------------------------------- */

typedef ADA_ARRAY(uint8_t) bytes_array;

static int put(bytes_array *bytes, const void *what, size_t size)
{
	if (ada_array_reserve(bytes, size))
		return -ENOMEM;
	memcpy(bytes->items + bytes->count, what, size);
	bytes->count += size;
	return 0;
}

static int put_call(bytes_array *bytes, const struct ada_calls *calls, const struct ada_call *call)
{
	const AtfTotalsCall made = { .function_id = call->function_id,
				     .start_ns = call->start_ns,
				     .children_ns = call->children_ns,
				     .waited_ns = call->waited_ns,
				     .depth = call->depth,
				     .flags = ((uintptr_t)call->user & ATF_TOTALS_ADDS) |
					      (call->losses != calls->losses ? ATF_TOTALS_ACROSS_LOSS : 0) };

	return put(bytes, &made, sizeof made);
}

static int put_function(bytes_array *bytes, const struct ada_function_stats *function)
{
	const struct ada_histogram *durations = &function->durations;
	AtfTotalsFunction made = { .function_id = function->function_id,
				   .calls = function->calls,
				   .unknown = function->unknown,
				   .total_ns = function->total_ns,
				   .self_ns = function->self_ns,
				   .count = durations->count,
				   .sum_ns = durations->sum,
				   .min_ns = durations->min,
				   .max_ns = durations->max };
	size_t place = bytes->count;
	uint32_t last = 0;
	int result = put(bytes, &made, sizeof made);

	for (uint32_t i = 0; i < ATF_TOTALS_BUCKETS && !result; i++) {
		uint64_t count = ada_histogram_bucket(durations, i);
		uint8_t coded[2 * ATF_PACK_VARINT_BYTES], *end;

		if (!count)
			continue;
		end = atf_pack_put(atf_pack_put(coded, i - last), count);
		result = put(bytes, coded, (size_t)(end - coded));
		made.bucket_count++;
		last = i;
	}
	if (result)
		return result;
	made.bucket_bytes = (uint32_t)(bytes->count - place - sizeof made);
	memcpy(bytes->items + place, &made, sizeof made);
	return 0;
}

static int compare_ids(const void *left, const void *right)
{
	const struct ada_function_stats *const *a = left, *const *b = right;

	return (*a)->function_id < (*b)->function_id ? -1 : (*a)->function_id > (*b)->function_id;
}

/* By their ids: the file doesn't tell in how many pieces they were counted. */
static int put_functions(bytes_array *bytes, const struct ada_counter *counter, uint32_t *put)
{
	size_t count = counter->functions.count;
	struct ada_function_stats **sorted = malloc((count + 1) * sizeof *sorted);
	int result = sorted ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && !result; i++)
		sorted[i] = counter->functions.items[i];
	if (!result)
		qsort(sorted, count, sizeof *sorted, compare_ids);
	for (size_t i = 0; i < count && !result; i++) {
		if (!sorted[i]->calls && !sorted[i]->durations.count)
			continue;
		result = put_function(bytes, sorted[i]);
		++*put;
	}
	free(sorted);
	return result;
}

int ada_totals_make(const struct ada_tally *tally, const AtfTotalsHeader *given, uint8_t **out, size_t *size)
{
	const struct ada_calls *calls = &tally->calls;
	AtfTotalsHeader header = *given;
	bytes_array bytes = {};
	uint32_t functions = 0;
	int result = put(&bytes, &header, sizeof header);

	for (size_t i = 0; i < calls->stack.count && !result; i++)
		result = put_call(&bytes, calls, &calls->stack.items[i]);
	for (size_t i = 0; i < calls->aside.count && !result; i++)
		result = put_call(&bytes, calls, &calls->aside.items[i]);
	if (!result)
		result = put_functions(&bytes, tally->counter, &functions);
	if (result) {
		ada_array_free(&bytes);
		return result;
	}
	header.open_count = (uint32_t)calls->stack.count;
	header.aside_count = (uint32_t)calls->aside.count;
	header.function_count = functions;
	header.time_end_ns = calls->last_ns;
	header.before_loss_ns = calls->before_loss_ns;
	header.flags = calls->after_loss ? ATF_TOTALS_AFTER_LOSS : 0;
	atf_totals_seal(&header, bytes.items + sizeof header, bytes.count - sizeof header);
	memcpy(bytes.items, &header, sizeof header);
	*out = bytes.items;
	*size = bytes.count;
	return 0;
}
