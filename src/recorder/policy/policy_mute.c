/* Functions that a budget mutes in one process (recorder/budget/hush.c): a bit beside what rules ask for, in the table in force and in each
 * that comes. */
#include <errno.h>
#include <string.h>
#include "recorder/policy/policy_state.h"
#include "recorder/state/state.h"

static struct ada_policy_tables *tables_held(struct ada_policy *policy, struct ada_provider *provider)
{
	struct ada_policy_tables *tables;

	pthread_mutex_lock(&policy->lock);
	tables = ada_policy_tables_of(policy, provider);
	pthread_mutex_unlock(&policy->lock);
	if (tables)
		pthread_mutex_lock(&provider->lock);
	return tables;
}

static uint32_t number_of(struct ada_policy_tables *tables, uint64_t function_id)
{
	const struct ada_policy_module *module = ada_policy_module_of(tables, ADA_FUNCTION_MODULE(function_id));

	return module && module->base ? module->base + ADA_FUNCTION_SYMBOL(function_id) : 0;
}

static int muted_note(struct ada_policy_tables *tables, uint32_t number, bool muted)
{
	size_t count = tables->muted.count;

	if (number >= count) {
		if (ada_array_reserve(&tables->muted, number + 1 - count))
			return -ENOMEM;
		memset(tables->muted.items + count, 0, number + 1 - count);
		tables->muted.count = number + 1;
	}
	tables->muted.items[number] = muted;
	return 0;
}

/* A file that is loaded twice at once (dlmopen), or once again, has the same numbers. */
static bool has_own_numbers(const struct ada_policy_tables *tables, uint32_t module_id, uint32_t number)
{
	for (size_t i = 0; i < tables->modules.count; i++) {
		const struct ada_policy_module *module = &tables->modules.items[i];

		if (module->id != module_id && module->base && number >= module->base &&
		    number - module->base < ada_plan_header(module->image->plans.items[0])->function_count)
			return false;
	}
	return true;
}

static void flag_put(const struct ada_policy_tables *tables, uint32_t number, bool muted)
{
	struct ada_policy_table *table = ada_segment_policy_table(&tables->provider->segment, tables->current);
	uint8_t *flags = (uint8_t *)table + ADA_POLICY_FLAGS + number;

	if (muted)
		__atomic_fetch_or(flags, ADA_POLICY_MUTED, __ATOMIC_SEQ_CST);
	else
		__atomic_fetch_and(flags, (uint8_t)~ADA_POLICY_MUTED, __ATOMIC_SEQ_CST);
}

bool ada_policy_mute(struct ada_policy *policy, struct ada_provider *provider, uint64_t function_id, bool muted)
{
	struct ada_policy_tables *tables = tables_held(policy, provider);
	uint32_t number = tables && provider->mapped ? number_of(tables, function_id) : 0;
	bool done = number && number <= tables->functions &&
		    (!muted || has_own_numbers(tables, ADA_FUNCTION_MODULE(function_id), number)) && !muted_note(tables, number, muted);

	if (done)
		flag_put(tables, number, muted);
	if (tables)
		pthread_mutex_unlock(&provider->lock);
	return done;
}

bool ada_policy_is_muted(struct ada_policy *policy, struct ada_provider *provider, uint64_t function_id)
{
	struct ada_policy_tables *tables = tables_held(policy, provider);
	uint32_t number = tables ? number_of(tables, function_id) : 0;
	bool muted = number && number < tables->muted.count && tables->muted.items[number];

	if (tables)
		pthread_mutex_unlock(&provider->lock);
	return muted;
}

int ada_policy_mutes_inherit(struct ada_policy_tables *tables, const struct ada_policy_tables *parent)
{
	int status;

	pthread_mutex_lock(&parent->provider->lock);
	status = ada_array_reserve(&tables->muted, parent->muted.count);
	if (!status && parent->muted.count) {
		memcpy(tables->muted.items, parent->muted.items, parent->muted.count);
		tables->muted.count = parent->muted.count;
	}
	pthread_mutex_unlock(&parent->provider->lock);
	return status;
}

void ada_policy_mutes_add(const struct ada_policy_tables *tables, uint8_t *flags, uint32_t functions)
{
	for (uint32_t number = 1; number <= functions && number < tables->muted.count; number++)
		if (tables->muted.items[number])
			flags[number] |= ADA_POLICY_MUTED;
}

void ada_policy_mutes_drop(struct ada_policy_tables *tables, const struct ada_policy_module *module)
{
	const uint32_t count = ada_plan_header(module->image->plans.items[0])->function_count;

	for (uint32_t number = module->base; number - module->base < count && number < tables->muted.count; number++)
		if (tables->muted.items[number]) {
			tables->muted.items[number] = 0;
			flag_put(tables, number, false);
		}
}
