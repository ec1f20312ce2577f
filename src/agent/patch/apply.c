/* From a plan to trampolines and patches.
 *
 * In two passes, so that a module is hooked whole or not at all: first every trampoline is built and the region sealed, then the text is
 * opened and the jumps are written. Nothing else runs in the module meanwhile: at the start there is one thread, a library that is being
 * loaded isn't executed yet, and later (late.c) the recorder has stopped every thread, outside the bytes to be patched. An entry whose
 * bytes aren't as planned is left alone.
 */
#include <sys/mman.h>
#include "abi/page.h"
#include "agent/patch/patch.h"

#define JUMP_BYTES 5

ada_replacement_function *ada_apply_replacement;

struct application {
	struct ada_module *module;
	uint32_t id;
	bool late;
	struct ada_region *region;
	uint64_t *entries; /* by hook number: where its jump goes, 0: not hooked */
	uint32_t hooked, mismatched, bound;
	struct ada_mutexes mutexes;
};

static const struct ada_plan_hook *hook_at(const struct ada_plan_header *plan, uint32_t number)
{
	return (const struct ada_plan_hook *)((const char *)plan + plan->hooks_offset) + number;
}

static bool is_intercept(const struct application *job, const struct ada_plan_hook *hook)
{
	return ada_plan_function_at(job->module->plan, hook->function)->flags & ADA_FUNCTION_INTERCEPT;
}

/* Nothing in the plan may lead outside it: the recorder has checked the plan, but this is the program's memory. */
static bool hook_makes_sense(const struct ada_plan_header *plan, const struct ada_plan_hook *hook)
{
	return hook->function < plan->function_count && hook->body_offset <= plan->bodies_bytes &&
	       hook->body_bytes <= plan->bodies_bytes - hook->body_offset && hook->reloc_first <= plan->reloc_count &&
	       hook->reloc_count <= plan->reloc_count - hook->reloc_first && hook->patch_bytes <= sizeof hook->expected &&
	       hook->form >= ADA_PATCH_JUMP && hook->form <= ADA_PATCH_NOP && hook->origin_first < plan->origin_count;
}

/* A call among the first instructions may be in progress: its return address must not lie in the bytes of the jump. */
static bool leaves_returns_alone(const struct application *job, const struct ada_plan_hook *hook)
{
	const struct ada_plan_header *plan = job->module->plan;
	const struct ada_plan_reloc *reloc = (const void *)((const char *)plan + plan->relocs_offset);

	reloc += hook->reloc_first;
	for (uint32_t i = 0; i < hook->reloc_count; i++)
		if (reloc[i].kind == ADA_RELOC_LOW32 && reloc[i].target + reloc[i].addend - (hook->patch_address + 1) < JUMP_BYTES - 1)
			return false;
	return true;
}

/* By reply and filter. */
static bool is_chosen(const struct application *job, uint32_t number)
{
	uint32_t reply = job->module->reply;

	return (reply & ADA_PLAN_REPLY_TRACE || (reply & ADA_PLAN_REPLY_NAMED && job->module->filter)) &&
	       ada_module_filter(job->module, number);
}

/* An intercept with OBJECT events (abi/object.h) has a second trampoline: the agent sends there what is to be recorded. */
static bool is_recorded_too(const struct application *job, uint32_t number)
{
	const struct ada_plan_hook *hook = hook_at(job->module->plan, number);

	return is_intercept(job, hook) && ada_plan_function_at(job->module->plan, hook->function)->flags & ADA_FUNCTION_OBJECTS &&
	       is_chosen(job, number);
}

static bool is_wanted(const struct application *job, uint32_t number)
{
	const struct ada_plan_hook *hook = hook_at(job->module->plan, number);

	if (!hook_makes_sense(job->module->plan, hook) || ada_module_applied(job->module, hook->function))
		return false;
	if (is_intercept(job, hook))
		return !job->late;
	if (job->late && !leaves_returns_alone(job, hook))
		return false;
	return is_chosen(job, number);
}

static bool bytes_fit(const struct ada_module *module, const struct ada_plan_hook *hook)
{
	uint64_t at = module->bias + hook->patch_address, island = module->bias + hook->island_address;
	const Elf64_Phdr *segment = ada_module_segment(module, at);

	if (!segment || !(segment->p_flags & PF_X) || !ada_module_segment(module, at + JUMP_BYTES - 1))
		return false;
	if (memcmp((void *)at, hook->expected, hook->patch_bytes))
		return false;
	return hook->form != ADA_PATCH_ISLAND ||
	       (ada_module_segment(module, island) == segment && !memcmp((void *)island, hook->island_expected, JUMP_BYTES));
}

static int body_relocate(const struct ada_module *module, const struct ada_plan_hook *hook, uint8_t *body)
{
	const struct ada_plan_reloc *reloc = (const void *)((const char *)module->plan + module->plan->relocs_offset);

	reloc += hook->reloc_first;
	for (uint32_t i = 0; i < hook->reloc_count; i++, reloc++) {
		uint64_t value = module->bias + reloc->target + reloc->addend;
		uint32_t bytes = reloc->kind == ADA_RELOC_ABS64 ? 8 : 4;
		uint8_t *field = body + reloc->offset;

		if (reloc->offset + bytes > hook->body_bytes)
			return -EPROTO;
		if (reloc->kind == ADA_RELOC_REL32) {
			value -= (uint64_t)field;
			if ((int64_t)value != (int32_t)value)
				return -ERANGE;
		} else if (reloc->kind == ADA_RELOC_HIGH32) {
			value >>= 32;
		}
		memcpy(field, &value, bytes);
	}
	return 0;
}

/* Builds a trampoline that holds the body, relocated. `replacement`: of an intercept, else 0. */
static int body_build(struct application *job, const struct ada_plan_hook *hook, uint64_t replacement, uint64_t *entry, uint8_t **body)
{
	struct ada_hook_spec spec = {
		.function_id = ADA_FUNCTION_ID(job->id, hook->function),
		.body = (const uint8_t *)job->module->plan + job->module->plan->bodies_offset + hook->body_offset,
		.body_bytes = hook->body_bytes,
		.original = job->module->bias + hook->patch_address,
		.origins = (const uint8_t *)job->module->plan + job->module->plan->origins_offset +
			   hook->origin_first * sizeof(struct ada_plan_origin),
		.replacement = replacement,
		.number = ada_module_number(job->module, hook->function),
		.free_at_entry = hook->free_at_entry,
		.free_at_exit = hook->free_at_exit,
		.reads_vectors = hook->flags & ADA_HOOK_READS_VECTORS,
		.red_zone = hook->flags & ADA_HOOK_RED_ZONE,
	};
	int status = ada_region_hook(job->region, &spec, entry, body);

	return status ? status : body_relocate(job->module, hook, *body);
}

static int intercept_build(struct application *job, uint32_t number)
{
	const struct ada_plan_hook *hook = hook_at(job->module->plan, number);
	uint64_t address = ada_plan_function_at(job->module->plan, hook->function)->address, *recorded = NULL;
	uint8_t *body, *unused;
	void **original;
	void *replacement = ada_apply_replacement ? ada_apply_replacement(job->module, address, &original, &recorded) : NULL;
	int status = replacement ? body_build(job, hook, (uint64_t)replacement, &job->entries[number], &body) : 0;

	if (replacement && !status)
		*original = body;
	return !status && recorded && is_recorded_too(job, number) ? body_build(job, hook, 0, recorded, &unused) : status;
}

static bool is_filtered(const struct application *job, const struct ada_plan_hook *hook)
{
	return !job->late && ada_mutex_wants_filter(job->module, hook);
}

static int hook_build(struct application *job, uint32_t number)
{
	const struct ada_plan_hook *hook = hook_at(job->module->plan, number);
	uint64_t *entry = &job->entries[number], twin;
	uint8_t *body;
	int status = body_build(job, hook, 0, entry, &body);

	if (status || !is_filtered(job, hook))
		return status;
	status = body_build(job, hook, 0, &twin, &body);
	return status ? status :
			ada_mutex_add(&job->mutexes, job->region, ada_plan_function_at(job->module->plan, hook->function)->flags, *entry,
				      twin);
}

static uint32_t cells_of(const struct application *job, uint32_t number)
{
	const struct ada_plan_hook *hook = hook_at(job->module->plan, number);
	uint32_t cells = ada_region_cells(hook->body_bytes, hook->flags & ADA_HOOK_RED_ZONE);

	if (is_intercept(job, hook))
		return cells * (1 + is_recorded_too(job, number));
	return is_filtered(job, hook) ? 2 * cells + ada_region_cells(ADA_FILTER_BYTES, false) : cells;
}

static int region_build(struct application *job)
{
	const struct ada_plan_header *plan = job->module->plan;
	uint32_t cells = 0;
	int status;

	for (uint32_t i = 0; i < plan->hook_count; i++)
		if (is_wanted(job, i))
			cells += cells_of(job, i);
	if (!cells)
		return 0;
	job->entries = ada_sys_map_whole(plan->hook_count * sizeof *job->entries);
	if (!job->module->applied)
		job->module->applied = ada_sys_map(plan->function_count / 8 + 1);
	if (!job->entries || !job->module->applied)
		return -ENOMEM;
	status = ada_region_reserve(&job->region, job->module->start, job->module->end, cells);
	for (uint32_t i = 0; i < plan->hook_count && !status; i++) {
		const struct ada_plan_hook *hook = hook_at(plan, i);

		if (!is_wanted(job, i))
			continue;
		if (!bytes_fit(job->module, hook))
			job->mismatched++;
		else if (is_intercept(job, hook))
			status = intercept_build(job, i);
		else
			status = hook_build(job, i);
	}
	return status ? status : ada_region_seal(job->region);
}

static int text_protect(const struct ada_module *module, bool open)
{
	for (uint32_t i = 0; i < module->segment_count; i++) {
		const Elf64_Phdr *segment = &module->segments[i];
		uint64_t start = (module->bias + segment->p_vaddr) & -ADA_PAGE_BYTES;
		uint64_t end = (module->bias + segment->p_vaddr + segment->p_memsz + ADA_PAGE_BYTES - 1) & -ADA_PAGE_BYTES;
		int protection = PROT_EXEC | (segment->p_flags & PF_R ? PROT_READ : 0) | (segment->p_flags & PF_W ? PROT_WRITE : 0);
		long status;

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
			continue;
		status = ada_sys_protect((void *)start, end - start, open ? protection | PROT_READ | PROT_WRITE : protection);
		if (ada_sys_failed(status))
			return status;
	}
	return 0;
}

static void jump_write(uint64_t at, uint64_t target)
{
	int32_t distance = target - (at + JUMP_BYTES);

	*(uint8_t *)at = 0xe9;
	memcpy((uint8_t *)at + 1, &distance, sizeof distance);
}

static bool reaches(uint64_t at, uint64_t target)
{
	int64_t distance = target - (at + JUMP_BYTES);

	return distance == (int32_t)distance;
}

static bool hook_reaches(const struct application *job, uint32_t number)
{
	const struct ada_plan_hook *hook = hook_at(job->module->plan, number);
	bool by_island = hook->form == ADA_PATCH_ISLAND;
	int64_t step = hook->island_address - (hook->patch_address + 2);

	return reaches(job->module->bias + (by_island ? hook->island_address : hook->patch_address), job->entries[number]) &&
	       (!by_island || step == (int8_t)step);
}

static bool is_applied(const struct application *job, uint32_t number)
{
	const struct ada_plan_hook *hook = hook_at(job->module->plan, number);

	return hook->function < job->module->plan->function_count && ada_module_applied(job->module, hook->function);
}

/* Takes out hooks that are impossible: those out of reach, and those with an island in the bytes of a hook that was taken out. */
static void patches_check(struct application *job)
{
	const struct ada_plan_header *plan = job->module->plan;

	for (uint32_t i = 0; i < plan->hook_count; i++)
		if (job->entries[i] && !hook_reaches(job, i)) {
			ada_count_error();
			job->entries[i] = 0;
		}
	for (uint32_t i = 0; i < plan->hook_count; i++) {
		uint64_t host = i + (int64_t)hook_at(plan, i)->host;

		if (host != i && (host >= plan->hook_count || (!job->entries[host] && !is_applied(job, host))))
			job->entries[i] = 0;
	}
}

/* How many pages the patches change. */
static uint32_t patches_pages(const struct application *job, struct ada_pages *pages)
{
	const struct ada_module *module = job->module;
	uint32_t count = 0;

	for (uint32_t i = 0; i < module->plan->hook_count; i++) {
		const struct ada_plan_hook *hook = hook_at(module->plan, i);
		uint64_t at = hook->form == ADA_PATCH_ISLAND ? hook->island_address : hook->patch_address;

		if (job->entries[i])
			count += ada_pages_add(pages, module->bias + hook->patch_address) + ada_pages_add(pages, module->bias + at);
	}
	return count;
}

static void patches_write(struct application *job)
{
	const struct ada_plan_header *plan = job->module->plan;

	for (uint32_t i = 0; i < plan->hook_count; i++) {
		const struct ada_plan_hook *hook = hook_at(plan, i);
		uint64_t at = job->module->bias + hook->patch_address, island = job->module->bias + hook->island_address;
		bool by_island = hook->form == ADA_PATCH_ISLAND;
		int64_t step = island - (at + 2);

		if (!job->entries[i])
			continue;
		if (by_island) {
			jump_write(island, job->entries[i]);
			*(uint8_t *)at = 0xeb;
			*(uint8_t *)(at + 1) = step;
		} else {
			jump_write(at, job->entries[i]);
		}
		job->hooked += !is_intercept(job, hook);
		job->module->applied[hook->function / 8] |= 1u << hook->function % 8;
	}
	job->bound = ada_bind_write(job->module, job->entries);
}

/* Keeps entries for the next time that the module is loaded; without memory the module is not hooked then. By function, since a later
 * plan of the module may have other hooks. */
static void entries_keep(struct application *job)
{
	struct ada_module *module = job->module;
	const struct ada_plan_header *plan = module->plan;

	if (!module->entries)
		module->entries = ada_sys_map(plan->function_count * sizeof *module->entries);
	for (uint32_t i = 0; module->entries && i < plan->hook_count; i++)
		if (job->entries[i] && !is_intercept(job, hook_at(plan, i)))
			module->entries[hook_at(plan, i)->function] = job->entries[i];
}

int ada_apply_again(struct ada_module *module)
{
	const struct ada_plan_header *plan = module->plan;
	struct application job = { .module = module };
	int status;

	if (!plan || !module->entries)
		return 0;
	job.entries = ada_sys_map(plan->hook_count * sizeof *job.entries);
	if (!job.entries)
		return -ENOMEM;
	memset(module->applied, 0, plan->function_count / 8 + 1);
	for (uint32_t i = 0; i < plan->hook_count; i++) {
		const struct ada_plan_hook *hook = hook_at(plan, i);

		if (hook_makes_sense(plan, hook) && !is_intercept(&job, hook) && bytes_fit(module, hook))
			job.entries[i] = module->entries[hook->function];
	}
	patches_check(&job);
	status = text_protect(module, true);
	if (!status)
		patches_write(&job);
	if (text_protect(module, false))
		ada_count_error();
	ada_sys_unmap(job.entries, plan->hook_count * sizeof *job.entries);
	return status;
}

int ada_apply(struct ada_module *module, uint32_t id, bool late)
{
	struct application job = { .module = module, .id = id, .late = late };
	struct ada_pages pages = { NULL };
	struct ada_shm_module *entry;
	int status = region_build(&job);

	if (!status && job.region) {
		patches_check(&job);
		ada_mutex_offer(&job.mutexes);
		if (ada_pages_open(&pages, module))
			ada_bind_build(module, job.entries, &pages, patches_pages(&job, &pages));
		status = text_protect(module, true);
		if (!status && pages.changed)
			ada_pages_copy(&pages);
		if (!status)
			patches_write(&job);
		if (!status && late)
			ada_got_forward(module, id, job.entries);
		if (text_protect(module, false))
			ada_count_error();
		ada_pages_close(&pages);
	}
	if (!status && job.entries)
		entries_keep(&job);
	if (job.entries)
		ada_sys_unmap(job.entries, module->plan->hook_count * sizeof *job.entries);
	entry = ada_module_entry(id);
	entry->hooked += job.hooked;
	entry->mismatched += job.mismatched;
	entry->bound += job.bound;
	return status;
}
