/* Which calls of the file a plan lists: see struct ada_plan_call. */
#include <errno.h>
#include "plan/file/file.h"

/* Calls come by address: how far what lies by address, too, has been passed. */
struct passed {
	size_t hooks, targets, functions;
};

/* The hook of the function that begins at `address`; ADA_PLAN_NONE: calls of it go where they went. */
static uint32_t hook_called(const struct ada_planner *planner, uint64_t address)
{
	uint32_t number = ada_functions_before(planner, address);
	const struct ada_function *function = number == ADA_PLAN_NONE ? NULL : &planner->functions.items[number];

	if (!function || function->address != address || function->hook == ADA_PLAN_NONE || function->flags & ADA_FUNCTION_INTERCEPT)
		return ADA_PLAN_NONE;
	return function->hook;
}

/* Whether a patch compares bytes of the call, or lays its island there. Hooks are sorted, and compare 15 bytes at most. */
static bool is_patched(const struct ada_planner *planner, struct passed *passed, uint64_t start, uint64_t end)
{
	while (passed->hooks < planner->hooks.count && planner->hooks.items[passed->hooks].patch_address < end)
		passed->hooks++;
	for (size_t i = passed->hooks; i > 0; i--) {
		const struct ada_plan_hook *hook = &planner->hooks.items[i - 1];

		if (hook->patch_address + sizeof hook->expected <= start)
			return false;
		if (hook->patch_address + hook->patch_bytes > start)
			return true;
	}
	return false;
}

static bool is_entered(const struct ada_planner *planner, struct passed *passed, uint64_t start, uint64_t end)
{
	while (passed->targets < planner->targets.count && planner->targets.items[passed->targets].address <= start)
		passed->targets++;
	return passed->targets < planner->targets.count && planner->targets.items[passed->targets].address < end;
}

/* Where return addresses are keys, no call gets a stub. */
static bool is_of_runtime(const struct ada_planner *planner, struct passed *passed, uint64_t address)
{
	while (passed->functions < planner->functions.count && planner->functions.items[passed->functions].address <= address)
		passed->functions++;
	return passed->functions && planner->functions.items[passed->functions - 1].refusal == ADA_REFUSAL_RUNTIME;
}

/* By hook, and those of a hook as they come. `firsts`: a word a hook, and one more. */
static void sort(struct ada_plan_call *sorted, const struct ada_plan_call *calls, uint32_t count, uint32_t *firsts, size_t hooks)
{
	for (uint32_t i = 0; i < count; i++)
		firsts[calls[i].hook + 1]++;
	for (size_t i = 0; i < hooks; i++)
		firsts[i + 1] += firsts[i];
	for (uint32_t i = 0; i < count; i++)
		sorted[firsts[calls[i].hook]++] = calls[i];
}

int ada_calls_choose(const struct ada_planner *planner, struct ada_plan_call **calls, uint32_t *count)
{
	struct ada_plan_call *chosen = calloc(planner->calls.count + 1, sizeof *chosen);
	uint32_t *firsts = calloc(planner->hooks.count + 1, sizeof *firsts);
	struct passed passed = { 0 };

	*count = 0;
	*calls = calloc(planner->calls.count + 1, sizeof **calls);
	for (size_t i = 0; i < planner->calls.count && *calls && chosen && firsts; i++) {
		uint64_t behind = planner->calls.items[i].behind, start = behind - ADA_CALL_BYTES;
		uint32_t hook = hook_called(planner, planner->calls.items[i].target);

		if (hook != ADA_PLAN_NONE && behind - planner->elf->address_start <= UINT32_MAX &&
		    !is_patched(planner, &passed, start, behind) && !is_entered(planner, &passed, start, behind) &&
		    !is_of_runtime(planner, &passed, start))
			chosen[(*count)++] = (struct ada_plan_call){ .behind = (uint32_t)(behind - planner->elf->address_start),
								     .hook = hook };
	}
	if (*calls && chosen && firsts)
		sort(*calls, chosen, *count, firsts, planner->hooks.count);
	free(chosen);
	free(firsts);
	return *calls && chosen && firsts ? 0 : -ENOMEM;
}
