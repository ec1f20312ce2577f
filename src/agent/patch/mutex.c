/* Which functions get filters (agent/hook/filter.c): libc's own of mutexes, under --budget, where the plan says that nobody needs the flags
 * at their entries. Locking, attempts and unlocking are tried out on a mutex before the recorder is told of any: another libc lays mutexes
 * out in another way, and hardware that elides locks leaves them as if they were free. Where one of these is missing, or they aren't as
 * believed, all calls are recorded as ever. */
#include "agent/patch/patch.h"

bool ada_mutex_wants_filter(const struct ada_module *module, const struct ada_plan_hook *hook)
{
	return ada_core_shm()->filters_wanted && ada_plan_function_at(module->plan, hook->function)->flags & ADA_FUNCTION_MUTEX &&
	       hook->free_at_entry & 1u << ADA_REGISTER_FLAGS && ada_module_name_begins(module, "libc.so.");
}

int ada_mutex_add(struct ada_mutexes *mutexes, struct ada_region *region, uint16_t flags, uint64_t entry, uint64_t twin)
{
	uint64_t *tried = flags & ADA_FUNCTION_LOCK	? &mutexes->lock :
			  flags & ADA_FUNCTION_TRY_LOCK ? &mutexes->try_lock :
			  flags & ADA_FUNCTION_UNLOCK	? &mutexes->unlock :
							  NULL;
	uint64_t filter;
	int status = ada_filter_build(region, entry, twin, flags, &filter);

	if (status)
		return status;
	if (tried)
		*tried = entry;
	if (mutexes->count < ADA_MUTEX_FUNCTIONS) {
		mutexes->entries[mutexes->count] = entry;
		mutexes->filters[mutexes->count++] = filter;
	}
	return 0;
}

void ada_mutex_offer(const struct ada_mutexes *mutexes)
{
	if (!mutexes->lock || !mutexes->try_lock || !mutexes->unlock ||
	    !ada_filter_holds(ada_region_body(mutexes->lock), ada_region_body(mutexes->try_lock), ada_region_body(mutexes->unlock)))
		return;
	for (uint32_t i = 0; i < mutexes->count; i++)
		ada_filter_offer(mutexes->entries[i], mutexes->filters[i]);
}
