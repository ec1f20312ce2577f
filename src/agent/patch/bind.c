/* Direct calls of hooked functions, each led to a near stub of its own (hook/trampoline.c): there the caller is known, so its return stub
 * is found without looking. Everybody else comes through the function's patch, as before.
 *
 * Four bytes of a call change, its distance, while nothing else runs in the module (apply.c). A call whose bytes aren't as planned stays
 * as it is. So does one that would make too much of the text private memory: functions with several callers, which gain most, come first.
 */
#include "abi/page.h"
#include "agent/patch/patch.h"

#define OPCODE 0xe8
#define PAGES_OF_ANY 16u /* so many pages of text may be changed for calls alone, ... */
#define PAGES_SHARE 10u	 /* ... and one for so many that patches have changed */
#define CHOSEN 1	 /* in place of a distance: no near stub lies so close to its call */

struct choice {
	struct ada_module *module;
	const uint64_t *entries;
	struct ada_pages *pages;
	uint32_t left; /* pages that may still be changed */
};

static const struct ada_plan_call *call_at(const struct ada_plan_header *plan, uint32_t number)
{
	return (const struct ada_plan_call *)((const char *)plan + plan->calls_offset) + number;
}

static uint64_t return_address_of(const struct ada_module *module, const struct ada_plan_call *call)
{
	return module->bias + module->plan->address_start + call->behind;
}

/* The distance that the call was linked with. */
static int32_t distance_planned(const struct ada_module *module, const struct ada_plan_call *call)
{
	const struct ada_plan_hook *hook = (const struct ada_plan_hook *)((const char *)module->plan + module->plan->hooks_offset) +
					   call->hook;

	return module->bias + ada_plan_function_at(module->plan, hook->function)->address - return_address_of(module, call);
}

/* Whether it calls a function that the present job hooks. */
static bool is_hooked(const struct ada_module *module, const uint64_t *entries, const struct ada_plan_call *call)
{
	return call->hook < module->plan->hook_count && entries[call->hook];
}

/* Whether a call of a function that is hooked is as planned. */
static bool is_as_planned(const struct ada_module *module, const struct ada_plan_call *call)
{
	uint64_t behind = return_address_of(module, call);
	int32_t distance = distance_planned(module, call);
	const Elf64_Phdr *segment;

	segment = ada_module_segment(module, behind - ADA_CALL_BYTES);
	return segment && (segment->p_flags & PF_X) && segment == ada_module_segment(module, behind - 1) &&
	       *(const uint8_t *)(behind - ADA_CALL_BYTES) == OPCODE &&
	       !memcmp((const void *)(behind - sizeof distance), &distance, sizeof distance);
}

/* Not where the distance's bytes lie in two pages: the recorder, which may have to put the call back (recorder/budget/words.h), could be
 * killed between the two. */
static bool may_change(struct choice *choice, uint64_t behind)
{
	uint64_t first = behind - sizeof(int32_t), last = behind - 1;

	if (first / ADA_PAGE_BYTES != last / ADA_PAGE_BYTES || (!choice->left && !ada_pages_have(choice->pages, first)))
		return false;
	choice->left -= ada_pages_add(choice->pages, first);
	return true;
}

/* Of functions with several calls, or of those with one. Returns how many were chosen. */
static uint32_t calls_choose(struct choice *choice, bool several)
{
	const struct ada_plan_header *plan = choice->module->plan;
	uint32_t chosen = 0;

	/* Of most modules few functions are hooked: then most pages of `bound` are never touched. */
	for (uint32_t first = 0, end; first < plan->call_count; first = end) {
		for (end = first + 1; end < plan->call_count && call_at(plan, end)->hook == call_at(plan, first)->hook;)
			end++;
		if ((end - first > 1) != several || !is_hooked(choice->module, choice->entries, call_at(plan, first)))
			continue;
		for (uint32_t i = first; i < end; i++) {
			const struct ada_plan_call *call = call_at(plan, i);

			if (choice->module->bound[i] || !is_as_planned(choice->module, call) ||
			    !may_change(choice, return_address_of(choice->module, call)))
				continue;
			choice->module->bound[i] = CHOSEN;
			chosen++;
		}
	}
	return chosen;
}

static uint32_t choose_all(struct ada_module *module, const uint64_t *entries, struct ada_pages *pages, uint32_t patched)
{
	struct choice choice = { .module = module, .entries = entries, .pages = pages, .left = PAGES_OF_ANY + patched / PAGES_SHARE };

	return calls_choose(&choice, true) + calls_choose(&choice, false);
}

void ada_bind_build(struct ada_module *module, const uint64_t *entries, struct ada_pages *pages, uint32_t patched)
{
	const struct ada_plan_header *plan = module->plan;
	struct ada_region *region = NULL;
	uint32_t chosen;
	bool built;

	if (!plan->call_count || ada_core_shm()->unbound)
		return;
	if (!module->bound)
		module->bound = ada_sys_map(plan->call_count * sizeof *module->bound);
	chosen = module->bound ? choose_all(module, entries, pages, patched) : 0;
	if (!chosen)
		return;
	built = !ada_region_reserve_near(&region, module->start, module->end, chosen);
	for (uint32_t i = 0; i < plan->call_count; i++) {
		const struct ada_plan_call *call = call_at(plan, i);
		uint64_t behind = return_address_of(module, call), stub;

		if (!is_hooked(module, entries, call) || module->bound[i] != CHOSEN)
			continue;
		stub = built ? ada_region_near(region, entries[call->hook], behind) : 0;
		module->bound[i] = stub && (int64_t)(stub - behind) == (int32_t)(stub - behind) ? (int32_t)(stub - behind) : 0;
	}
	if (built && ada_region_seal(region)) /* then no call may lead there */
		memset(module->bound, 0, plan->call_count * sizeof *module->bound);
}

uint32_t ada_bind_write(const struct ada_module *module, const uint64_t *entries)
{
	uint32_t count = 0;

	for (uint32_t i = 0; module->bound && i < module->plan->call_count; i++) {
		const struct ada_plan_call *call = call_at(module->plan, i);

		if (!is_hooked(module, entries, call) || !module->bound[i] || !is_as_planned(module, call))
			continue;
		memcpy((void *)(return_address_of(module, call) - sizeof *module->bound), &module->bound[i], sizeof *module->bound);
		count++;
	}
	return count;
}
