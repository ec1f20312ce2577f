#include "query/verify/muted.h"
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include "base/file.h"

#define END_NS 100000000ull /* the process may be found gone while its hooks are changed */

static int compare_muted(const void *left, const void *right)
{
	const struct ada_muted *a = left, *b = right;

	if (a->function_id != b->function_id)
		return a->function_id < b->function_id ? -1 : 1;
	return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

/* What is wrong with an entry; NULL: nothing. One that begins where it ends is fine: a fork's child may put back at once what its
 * parent had out. */
static const char *fault_of(const json_object *entry, const struct ada_process *process)
{
	uint64_t id = ada_json_u64(entry, "functionId", UINT64_MAX), from_ns = ada_json_u64(entry, "fromNs", 0);
	uint64_t to_ns = ada_json_u64(entry, "toNs", UINT64_MAX), end_ns = ada_json_u64(process->manifest, "endNs", 0);

	if (!ada_module_symbol(ada_process_module(process, id), ADA_FUNCTION_SYMBOL(id)))
		return "its function is in no module's table";
	if (to_ns < from_ns)
		return "it ends before it begins";
	if (from_ns < ada_json_u64(process->manifest, "startNs", 0))
		return "it begins before the process";
	if (process->finalized && end_ns && (from_ns > end_ns + END_NS || (to_ns != UINT64_MAX && to_ns > end_ns + END_NS)))
		return "it lies behind the process's end";
	return NULL;
}

int ada_verify_mutes_open(struct ada_verify_mutes *mutes, struct ada_verify *verify, const struct ada_process *process)
{
	const json_object *list = ada_json_get(process->manifest, "muted");
	struct ada_muted muted;
	const char *fault = NULL;
	char file[PATH_MAX];
	size_t at = 0;

	*mutes = (struct ada_verify_mutes){ 0 };
	if (!ada_json_length(list))
		return 0;
	for (size_t i = 0; i < ada_json_length(list) && !fault; i++) {
		fault = fault_of(json_object_array_get_idx(list, i), process);
		at = i;
	}
	ada_path(file, "%s/manifest.json", process->directory);
	if (fault)
		ada_verify_found(verify, file, "muted", false, "entry %zu: %s", at, fault);
	else
		ada_verify_found(verify, file, "muted", true, "%s", "");
	for (size_t i = 0; ada_process_muted(process, i, &muted); i++)
		if (ada_array_push(&mutes->items, muted))
			return -ENOMEM;
	qsort(mutes->items.items, mutes->items.count, sizeof *mutes->items.items, compare_muted);
	return 0;
}

void ada_verify_mutes_close(struct ada_verify_mutes *mutes)
{
	ada_array_free(&mutes->items);
}

int ada_verify_mutes_call(struct ada_verify_mutes *mutes, struct ada_table *seen, uint64_t function_id, uint64_t ns)
{
	const struct ada_muted *items = mutes->items.items;
	uint64_t before, behind = ada_first_not(i, 0, mutes->items.count,
						items[i].function_id < function_id ||
							(items[i].function_id == function_id && items[i].from_ns <= ns));

	if (!behind || items[behind - 1].function_id != function_id || ns >= items[behind - 1].to_ns || items[behind - 1].filtered)
		return 0;
	if (!ada_table_get(seen, behind, &before)) /* the thread may have been in the hook when all were stopped */
		return ada_table_put(seen, behind, ns);
	if (!mutes->calls++)
		mutes->function_id = function_id;
	return 0;
}

/* No fault: calls that come by a library's slots are recorded until the recorder notices, and a manifest joins a function's stretches when
 * these are too many. */
void ada_verify_mutes_tell(const struct ada_verify_mutes *mutes, struct ada_verify *verify, const struct ada_process *process)
{
	char file[PATH_MAX], name[ADA_NAME_BUFFER];

	if (!mutes->items.count)
		return;
	ada_path(file, "%s/manifest.json", process->directory);
	if (!mutes->calls)
		ada_verify_found(verify, file, "muted calls", true, "%s", "");
	else
		ada_verify_found(
			verify, file, "muted calls", true,
			"%" PRIu64 " calls are recorded of functions that were out, the first of %s: libraries that came meanwhile "
			"may have made them",
			mutes->calls, ada_module_function(ada_process_module(process, mutes->function_id), mutes->function_id, name));
}
