#include "query/session/mutes.h"
#include <math.h>
#include "base/hash.h"

bool ada_process_muted(const struct ada_process *process, size_t i, struct ada_muted *muted)
{
	const json_object *list = ada_json_get(process->manifest, "muted"), *entry;

	*muted = (struct ada_muted){ 0 };
	if (i >= ada_json_length(list))
		return false;
	entry = json_object_array_get_idx(list, i);
	muted->function_id = ada_json_u64(entry, "functionId", 0);
	muted->filtered = ada_json_bool(entry, "filtered", false);
	muted->from_ns = ada_json_u64(entry, "fromNs", 0);
	muted->to_ns = ada_json_u64(entry, "toNs", UINT64_MAX);
	muted->calls_a_second = json_object_get_double(ada_json_get(entry, "callsPerSecond"));
	if (!isfinite(muted->calls_a_second) || muted->calls_a_second < 0)
		muted->calls_a_second = 0;
	if (muted->to_ns < muted->from_ns)
		*muted = (struct ada_muted){ 0 };
	return true;
}

void ada_process_count_muted(const struct ada_process *process, uint64_t from_ns, uint64_t to_ns, struct ada_muted_sum *sum)
{
	uint64_t end_ns, seen;
	struct ada_table known = { 0 };
	struct ada_muted muted;

	if (!ada_json_length(ada_json_get(process->manifest, "muted")))
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

bool ada_process_filtered(const struct ada_process *process, uint64_t from_ns, uint64_t to_ns)
{
	struct ada_muted muted;

	for (size_t i = 0; ada_process_muted(process, i, &muted); i++)
		if (muted.filtered && muted.from_ns <= to_ns && muted.to_ns >= from_ns)
			return true;
	return false;
}
