/* A rule is added while programs run: the functions that it names get hooks where they have none yet (late.h says how). */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include "abi/trampoline.h"
#include "base/file.h"
#include "recorder/late/late.h"
#include "recorder/policy/policy_state.h"
#include "recorder/state/provider.h"

/* A module of a process that may lack hooks. */
struct place {
	struct ada_policy_tables *tables;
	uint32_t id;
	uint64_t base;
	const char *path;
};
struct places {
	ADA_ARRAY(struct place) items;
};

/* Under provider->lock. False: it isn't loaded. */
static bool is_loaded(const struct ada_provider *provider, uint32_t id, uint64_t *base)
{
	const struct ada_shm_module *module;

	if (!provider->mapped || __atomic_load_n(&provider->replaced, __ATOMIC_ACQUIRE) ||
	    id >= ada_segment_module_count(&provider->segment))
		return false;
	module = &provider->segment.modules[id];
	*base = module->base;
	return __atomic_load_n(&module->present, __ATOMIC_ACQUIRE) == 1;
}

static bool lacks(const struct ada_policy_module *module, const struct ada_policy_rule *rule)
{
	for (size_t i = 0; i < module->image->matches.count; i++)
		if (!rule || module->image->matches.items[i].rule == rule)
			return module->image->path && (!module->plan || module->hooked);
	return false;
}

static void find_places(struct ada_policy *policy, const struct ada_policy_rule *rule, const struct ada_policy_tables *one,
			struct places *places)
{
	for (size_t i = 0; i < policy->tables.count; i++) {
		struct ada_policy_tables *tables = policy->tables.items[i];
		struct ada_provider *provider = tables->provider;
		uint64_t base;

		if (one && tables != one)
			continue;
		pthread_mutex_lock(&provider->lock);
		for (size_t j = 0; j < tables->modules.count; j++) {
			const struct ada_policy_module *module = &tables->modules.items[j];

			if (lacks(module, rule) && is_loaded(provider, module->id, &base))
				ada_array_push(&places->items, (struct place){ tables, module->id, base, module->image->path });
		}
		pthread_mutex_unlock(&provider->lock);
	}
}

static void add_range(struct ada_late *late, uint64_t start, uint64_t end)
{
	ada_array_push(&late->ranges, (struct ada_late_range){ start, end });
}

/* The bytes that the agent is about to change, and the loop that leads back into them, without the first: a thread that stands at the first
 * runs the jump. */
static void add_ranges(struct ada_late *late, const struct ada_plan *plan, uint64_t base, const uint8_t *before, const uint8_t *now)
{
	const struct ada_plan_hook *hooks = ada_plan_hooks(plan);

	for (uint32_t i = 0; i < ada_plan_header(plan)->hook_count; i++) {
		uint64_t at = base + hooks[i].patch_address, island = base + hooks[i].island_address;
		uint32_t copied = ada_plan_copied(plan, &hooks[i]);

		if (!(now[i / 8] >> i % 8 & 1) || (before && (before[i / 8] >> i % 8 & 1)))
			continue;
		if (hooks[i].form == ADA_PATCH_ISLAND) {
			add_range(late, at + 1, at + 2);
			add_range(late, island, island + ADA_JUMP_BYTES);
		} else {
			add_range(late, at + 1, at + (copied > ADA_JUMP_BYTES ? copied : ADA_JUMP_BYTES));
		}
	}
}

/* Notes in the module which hooks it is to have. True where it has fewer now. Under `change`. */
static bool prepare(struct ada_policy *policy, const struct place *place, const struct ada_planned *planned, struct ada_late *late,
		    struct ada_error *warning)
{
	struct ada_policy_module *module = ada_policy_module_of(place->tables, place->id);
	uint32_t bytes, count;
	uint8_t *hooks;

	if (!module || (module->plan && (!module->hooked || module->plan != planned->plan)))
		return false;
	if (ada_policy_image(policy, planned->plan, place->path) != module->image) {
		ada_policy_tell(warning, "process %d: %s was replaced: what rules name in it is not hooked", place->tables->provider->pid,
				place->path);
		return false;
	}
	bytes = (ada_plan_header(planned->plan)->hook_count + 7) / 8;
	hooks = calloc(bytes + 1, 1);
	if (!hooks)
		return false;
	if (module->plan)
		memcpy(hooks, module->hooked, bytes);
	count = ada_policy_hook_bits(module->image, planned->plan, hooks);
	ada_policy_warn_refused(module->image, planned->plan, warning);
	if (!count) {
		free(hooks);
		return false;
	}
	add_ranges(late, planned->plan, place->base, module->plan ? module->hooked : NULL, hooks);
	free(module->late_hooks);
	module->late = planned;
	module->late_hooks = hooks;
	return true;
}

static void forget(struct ada_policy *policy, struct ada_policy_tables *tables)
{
	pthread_mutex_lock(&policy->change);
	for (size_t i = 0; i < tables->modules.count; i++) {
		free(tables->modules.items[i].late_hooks);
		tables->modules.items[i].late = NULL;
		tables->modules.items[i].late_hooks = NULL;
	}
	pthread_mutex_unlock(&policy->change);
}

/* One process: places[0 .. count) are its modules. */
static void patch(struct ada_policy *policy, const struct place *places, size_t count, const struct ada_policy_rule *rule, uint32_t since,
		  struct ada_error *warning)
{
	struct ada_provider *provider = places->tables->provider;
	struct ada_error error = { "" };
	struct ada_late late = { .pid = provider->pid };
	struct stat file;
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		const struct ada_planned *planned = ada_plans_get(policy->recorder->plans, places[i].path, true);

		pthread_mutex_lock(&policy->change);
		any |= planned && planned->plan && prepare(policy, &places[i], planned, &late, warning);
		pthread_mutex_unlock(&policy->change);
	}
	pthread_mutex_lock(&provider->lock);
	any &= provider->mapped && !__atomic_load_n(&provider->replaced, __ATOMIC_ACQUIRE) && !ada_provider_gone(provider) &&
	       !fstat(provider->segment.fd, &file);
	if (any) {
		const struct ada_shm *shm = provider->segment.shm;

		late.device = file.st_dev;
		late.inode = file.st_ino;
		late.entry = __atomic_load_n(&shm->late_entry, __ATOMIC_ACQUIRE);
		late.stack = shm->late_stack;
		late.text_start = shm->agent_text_start;
		late.text_end = shm->agent_text_end;
	}
	pthread_mutex_unlock(&provider->lock);
	if (any && ada_late_run(&late, &error) && !ada_provider_gone(provider) && places->tables->late_told <= since) {
		places->tables->late_told = ada_policy_version(policy);
		ada_policy_tell(warning, "%s: not hooked in process %d: %s", rule ? rule->trigger->text : "what rules name", provider->pid,
				error.text);
	}
	ada_array_free(&late.ranges);
	forget(policy, places->tables);
}

void ada_policy_late(struct ada_policy *policy, const struct ada_policy_rule *rule, const struct ada_policy_tables *one, uint32_t since,
		     struct ada_error *warning)
{
	struct places places = { 0 };

	if (!policy->recorder || (rule && !rule->trigger->patterns.count))
		return;
	pthread_mutex_lock(&policy->change);
	find_places(policy, rule, one, &places);
	pthread_mutex_unlock(&policy->change);
	for (size_t i = 0, next; i < places.items.count; i = next) {
		for (next = i + 1; next < places.items.count && places.items.items[next].tables == places.items.items[i].tables;)
			next++;
		patch(policy, &places.items.items[i], next - i, rule, since, warning);
	}
	ada_array_free(&places.items);
}

/* Forgets hooks that were put in late and whose first byte is still the file's: this process lacks them. */
static void forget_missing(struct ada_policy_module *module, pid_t pid, uint64_t base)
{
	const struct ada_plan_hook *hooks = ada_plan_hooks(module->plan);

	for (uint32_t i = 0; i < ada_plan_header(module->plan)->hook_count; i++) {
		uint8_t byte = 0;
		struct iovec mine = { &byte, 1 }, its = { (void *)(base + hooks[i].patch_address), 1 };

		if (!(module->patched[i / 8] >> i % 8 & 1))
			continue;
		if (process_vm_readv(pid, &mine, 1, &its, 1, 0) != 1 || byte == hooks[i].expected[0])
			module->hooked[i / 8] &= (uint8_t) ~(1u << i % 8);
	}
}

void ada_policy_check_inherited(struct ada_policy_tables *tables)
{
	struct ada_provider *provider = tables->provider;

	for (size_t i = 0; i < tables->modules.count; i++) {
		struct ada_policy_module *module = &tables->modules.items[i];
		uint64_t base;

		if (module->patched && module->hooked && is_loaded(provider, module->id, &base))
			forget_missing(module, provider->pid, base);
	}
}

void ada_policy_catch_up(struct ada_policy *policy, struct ada_provider *provider, uint32_t version)
{
	struct ada_policy_tables *tables;

	pthread_mutex_lock(&policy->late);
	pthread_mutex_lock(&policy->change);
	tables = policy->version != version ? ada_policy_tables_of(policy, provider) : NULL;
	pthread_mutex_unlock(&policy->change);
	if (tables)
		ada_policy_late(policy, NULL, tables, version, NULL);
	pthread_mutex_unlock(&policy->late);
}

void ada_policy_again(struct ada_policy *policy, struct ada_provider *provider, uint32_t module_id)
{
	const struct ada_planned *planned = NULL;
	struct ada_late nowhere = { 0 }; /* nothing runs in it yet */
	struct ada_error told = { "" };	 /* when it was loaded first, or the rule was made */
	char path[PATH_MAX] = "";
	struct ada_policy_tables *tables;
	struct ada_policy_module *module;

	pthread_mutex_lock(&policy->change);
	tables = ada_policy_tables_of(policy, provider);
	module = tables ? ada_policy_module_of(tables, module_id) : NULL;
	if (module && lacks(module, NULL) && ada_path(path, "%s", module->image->path))
		*path = 0;
	pthread_mutex_unlock(&policy->change);
	if (*path)
		planned = ada_plans_get(policy->recorder->plans, path, true);
	if (!planned || !planned->plan)
		return;
	pthread_mutex_lock(&policy->change);
	tables = ada_policy_tables_of(policy, provider);
	module = tables ? ada_policy_module_of(tables, module_id) : NULL;
	if (module && !module->late)
		prepare(policy, &(struct place){ .tables = tables, .id = module_id, .path = path }, planned, &nowhere, &told);
	pthread_mutex_unlock(&policy->change);
	ada_array_free(&nowhere.ranges);
}

static void note_patched(struct ada_policy_module *module)
{
	uint32_t bytes = (ada_plan_header(module->late->plan)->hook_count + 7) / 8;

	if (!module->patched)
		module->patched = calloc(bytes + 1, 1);
	for (uint32_t i = 0; module->patched && i < bytes; i++)
		module->patched[i] |= (uint8_t)(module->late_hooks[i] & ~(module->plan ? module->hooked[i] : 0));
}

uint8_t *ada_policy_late_hooks(struct ada_policy *policy, struct ada_provider *provider, uint32_t module_id,
			       const struct ada_planned **planned, uint32_t *function_base)
{
	uint8_t *hooks = NULL;
	struct ada_policy_tables *tables;
	struct ada_policy_module *module;

	pthread_mutex_lock(&policy->change);
	tables = ada_policy_tables_of(policy, provider);
	module = tables ? ada_policy_module_of(tables, module_id) : NULL;
	if (module && module->late) {
		*planned = module->late;
		*function_base = module->base;
		note_patched(module);
		hooks = module->late_hooks;
		module->late = NULL;
		module->late_hooks = NULL;
	}
	pthread_mutex_unlock(&policy->change);
	return hooks;
}

bool ada_policy_late_hold(struct ada_policy *policy)
{
	return !pthread_mutex_trylock(&policy->late);
}

void ada_policy_late_release(struct ada_policy *policy)
{
	pthread_mutex_unlock(&policy->late);
}
