/* Jumps of two bytes to a jmp rel32 in padding nearby. Placed after all other forms, which may take padding themselves. */
#include "plan/patch.h"

/* What jmp rel8 at `patch` reaches, as the first and last place of an island. */
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
	size_t low = 0, high = planner->pads.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (planner->pads.items[middle].end <= reach_first(patch))
			low = middle + 1;
		else
			high = middle;
	}
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

/* At the place of the long jump, else over endbr64, which then is the copy: a loop may begin right behind that. */
static bool find_window(const struct ada_planner *planner, const struct ada_function *function, struct ada_window *window)
{
	uint64_t rest, starts[2] = {function->address, function->address};
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
	int result = 0;

	for (uint32_t i = 0; i < planner->functions.count && !result; i++) {
		struct ada_function *function = &planner->functions.items[i];
		struct ada_window window;
		struct ada_pad *behind;
		uint64_t island, rest;

		if (!ada_refusal_is_of_place(function->refusal) || !find_window(planner, function, &window))
			continue;
		behind = window.padding ? ada_pad_at(planner, function->end) : NULL;
		ada_window_take_padding(planner, function, &window);
		island = take_island(planner, window.start);
		if (!island) {
			if (behind)
				behind->start = function->end;
			continue;
		}
		result = ada_window_hook(planner, i, &window, ADA_PATCH_ISLAND);
		if (result || function->refusal)
			continue;
		planner->hooks.items[function->hook].island_address = island;
		memcpy(planner->hooks.items[function->hook].island_expected, ada_code_at(planner, island, &rest), ADA_JUMP_BYTES);
	}
	return result;
}
