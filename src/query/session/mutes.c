#include "query/session/mutes.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "base/hash.h"
#include "query/session/session.h"

static struct ada_muted muted_of(const json_object *entry)
{
	struct ada_muted muted = { .function_id = ada_json_u64(entry, "functionId", 0),
				   .filtered = ada_json_bool(entry, "filtered", false),
				   .from_ns = ada_json_u64(entry, "fromNs", 0),
				   .to_ns = ada_json_u64(entry, "toNs", UINT64_MAX),
				   .calls_a_second = json_object_get_double(ada_json_get(entry, "callsPerSecond")) };

	if (!isfinite(muted.calls_a_second) || muted.calls_a_second < 0)
		muted.calls_a_second = 0;
	return muted.to_ns < muted.from_ns ? (struct ada_muted){ 0 } : muted;
}

static int compare_from(const void *left, const void *right)
{
	const struct ada_muted *a = left, *b = right;

	return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

int ada_mutes_read(struct ada_process *process)
{
	const json_object *list = ada_json_get(process->manifest, "muted");
	struct ada_mutes *mutes = &process->mutes;
	uint64_t latest_ns = 0;

	for (size_t i = 0; i < ada_json_length(list); i++) {
		struct ada_muted muted = muted_of(json_object_array_get_idx(list, i));

		if (ada_array_push(&mutes->all, muted) || (muted.filtered && ada_array_push(&mutes->filtered, muted)))
			return -ENOMEM;
	}
	if (mutes->filtered.count)
		qsort(mutes->filtered.items, mutes->filtered.count, sizeof *mutes->filtered.items, compare_from);
	for (size_t i = 0; i < mutes->filtered.count; i++) {
		struct ada_muted *muted = &mutes->filtered.items[i];

		latest_ns = muted->to_ns = muted->to_ns > latest_ns ? muted->to_ns : latest_ns;
	}
	return 0;
}

void ada_mutes_free(struct ada_mutes *mutes)
{
	ada_array_free(&mutes->all);
	ada_array_free(&mutes->filtered);
}

bool ada_process_muted(const struct ada_process *process, size_t i, struct ada_muted *muted)
{
	bool has = i < process->mutes.all.count;

	*muted = has ? process->mutes.all.items[i] : (struct ada_muted){ 0 };
	return has;
}

void ada_process_count_muted(const struct ada_process *process, uint64_t from_ns, uint64_t to_ns, struct ada_muted_sum *sum)
{
	uint64_t end_ns, seen;
	struct ada_table known = { 0 };
	struct ada_muted muted;

	if (!process->mutes.all.count)
		return;
	end_ns = ada_process_end_ns(process);
	to_ns = to_ns < end_ns ? to_ns : end_ns;
	for (size_t i = 0; ada_process_muted(process, i, &muted); i++) {
		uint64_t from = muted.from_ns > from_ns ? muted.from_ns : from_ns, to = muted.to_ns < to_ns ? muted.to_ns : to_ns;

		if (from >= to)
			continue;
		sum->calls += muted.calls_a_second * (double)(to - from) / 1e9;
		if (!ada_table_get(&known, muted.function_id, &seen)) {
			sum->functions++;
			sum->filtered += muted.filtered;
		}
		ada_table_put(&known, muted.function_id, 1);
	}
	ada_table_free(&known);
}

/* The latest end of those that began by then; 0: none did. */
static uint64_t latest_end(const struct ada_process *process, uint64_t ns)
{
	const struct ada_muted *items = process->mutes.filtered.items;
	uint64_t behind = ada_first_not(i, 0, process->mutes.filtered.count, items[i].from_ns <= ns);

	return behind ? items[behind - 1].to_ns : 0;
}

bool ada_process_filtered(const struct ada_process *process, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t end_ns = latest_end(process, to_ns);

	return end_ns && end_ns >= from_ns;
}

uint64_t ada_process_filtered_until(const struct ada_process *process, uint64_t ns)
{
	uint64_t end_ns = latest_end(process, ns);

	return end_ns < ns ? end_ns : ns;
}
