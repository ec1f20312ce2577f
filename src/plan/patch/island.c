/* Jumps of two bytes to a jmp rel32 in dead bytes nearby: padding, else a neighbour's bytes behind its own jump, if ten of
 * the neighbour's bytes are copied instead of five. Islands come after all other forms, which may take padding themselves. */
#include "plan/patch/window.h"

#define HOST_BYTES (2 * ADA_JUMP_BYTES)

/* The first and the last place of an island that jmp rel8 at `patch` reaches. */
static uint64_t reach_first(uint64_t patch)
{
	return patch + ADA_SHORT_JUMP_BYTES - 128;
}

static uint64_t reach_last(uint64_t patch)
{
	return patch + ADA_SHORT_JUMP_BYTES + 127;
}

/* Takes five bytes of a pad within reach, nearest to its start; 0: there are none. */
static uint64_t take_island(struct ada_planner *planner, uint64_t patch)
{
	size_t low = ada_array_below(&planner->pads, end, reach_first(patch) + 1);

	for (; low < planner->pads.count && planner->pads.items[low].start <= reach_last(patch); low++) {
		struct ada_pad *pad = &planner->pads.items[low];
		uint64_t island = pad->start > reach_first(patch) ? pad->start : reach_first(patch);

		if (island > reach_last(patch) || island + ADA_JUMP_BYTES > pad->end ||
		    ada_window_entered(planner, island - 1, island + ADA_JUMP_BYTES))
			continue;
		pad->start = island + ADA_JUMP_BYTES;
		return island;
	}
	return 0;
}

static bool can_host(const struct ada_planner *planner, const struct ada_function *host, uint64_t patch, struct ada_window *window)
{
	const struct ada_plan_hook *hook;
	uint64_t island;

	if (host->hook == ADA_PLAN_NONE || host->is_host || host->flags & ADA_FUNCTION_INTERCEPT)
		return false;
	hook = &planner->hooks.items[host->hook];
	island = hook->patch_address + ADA_JUMP_BYTES;
	return hook->form == ADA_PATCH_JUMP && island >= reach_first(patch) && island <= reach_last(patch) &&
	       !ada_window_loops(planner, host, hook->patch_address) &&
	       !ada_window_try(planner, host, hook->patch_address, HOST_BYTES, window) && window->copied_end >= window->end;
}

/* Finds function `number` a host, whose hook then copies more. *island: 0 where there is no host. */
static int take_from_host(struct ada_planner *planner, uint32_t number, uint64_t patch, uint64_t *island)
{
	struct ada_body body;

	*island = 0;
	for (uint32_t distance = 1; distance <= 64; distance++)
		for (unsigned way = 0; way < 2; way++) {
			uint32_t other = way ? number - distance : number + distance; /* may wrap: out of range too */
			struct ada_function *host = &planner->functions.items[other];
			struct ada_window window;

			if (other >= planner->functions.count || !can_host(planner, host, patch, &window) ||
			    ada_relocate(planner, window.start, window.copied_end, window.copied_end, &body))
				continue;
			host->is_host = true;
			planner->functions.items[number].host = other;
			*island = window.start + ADA_JUMP_BYTES;
			return ada_hook_replace(planner, host->hook, window.copied_end, &body);
		}
	return 0;
}

/* Tries the place of the long jump, then endbr64's, which then is the copy: a loop may begin right behind endbr64. */
static bool find_window(const struct ada_planner *planner, const struct ada_function *function, struct ada_window *window)
{
	uint64_t rest, starts[2] = { function->address, function->address };
	const uint8_t *bytes = ada_code_at(planner, function->address, &rest);

	if (bytes && rest >= ADA_ENDBR_BYTES && ada_read32(bytes) == 0xfa1e0ff3)
		starts[0] += ADA_ENDBR_BYTES;
	for (unsigned i = 0; i < 2; i++)
		if (!ada_window_loops(planner, function, starts[i]) &&
		    !ada_window_try(planner, function, starts[i], ADA_SHORT_JUMP_BYTES, window))
			return true;
	return false;
}

int ada_islands_place(struct ada_planner *planner)
{
	int status = 0;

	for (uint32_t i = 0; i < planner->functions.count && !status; i++) {
		struct ada_function *function = &planner->functions.items[i];
		struct ada_window window;
		struct ada_pad *behind;
		uint64_t island, rest;

		if (!ada_refusal_is_of_place(function->refusal) || !find_window(planner, function, &window))
			continue;
		behind = window.padding ? ada_pad_at(planner, function->end) : NULL;
		ada_window_take_padding(planner, function, &window);
		island = take_island(planner, window.start);
		if (!island)
			status = take_from_host(planner, i, window.start, &island);
		if (!island) {
			if (behind)
				behind->start = function->end;
			continue;
		}
		if (!status)
			status = ada_window_hook(planner, i, &window, ADA_PATCH_ISLAND);
		if (status || function->refusal)
			continue;
		planner->hooks.items[function->hook].island_address = island;
		memcpy(planner->hooks.items[function->hook].island_expected, ada_code_at(planner, island, &rest), ADA_JUMP_BYTES);
	}
	return status;
}
