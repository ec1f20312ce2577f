/* Leads what leaves a run to blocks of other runs, once all are known: cold parts and what jumps back from them, code that runs on into
 * the code behind. Then only calls and jumps of functions lead from function to function. */
#include <errno.h>
#include "plan/registers/blocks.h"

static uint32_t run_at(const struct ada_registers *registers, uint32_t place)
{
	size_t behind = ada_array_below(&registers->runs, start, place + 1);

	return behind && place < registers->runs.items[behind - 1].end ? (uint32_t)behind - 1 : ADA_PLAN_NONE;
}

/* Sets *number to the block that begins at `place`: a new one where that lies in the midst of another. False: there is no code. */
static int block_at(struct ada_planner *planner, uint32_t place, uint32_t *number, bool *found)
{
	struct ada_registers *registers = planner->registers;
	uint32_t at = run_at(registers, place), inner;
	const struct ada_run *run;
	struct ada_block block;
	struct ada_effect effect;

	*found = false;
	if (at == ADA_PLAN_NONE)
		return 0;
	run = &registers->runs.items[at];
	inner = run->first + (uint32_t)ada_first_not(i, 0, run->count, registers->blocks.items[run->first + i].start <= place);
	if (inner == run->first)
		return 0;
	*number = inner - 1;
	block = registers->blocks.items[*number];
	*found = block.start == place || block.start < run->end;
	if (block.start == place || !*found)
		return 0;
	effect = ada_effect_of_stretch(planner, place, inner < run->first + run->count ? registers->blocks.items[inner].start : run->end);
	block.start = place;
	block.reads = effect.reads;
	block.writes = effect.writes;
	block.restores = effect.restores;
	*number = (uint32_t)registers->blocks.count;
	return ada_array_push(&registers->run_of_block, at) || ada_array_push(&registers->blocks, block) ? -ENOMEM : 0;
}

static bool same_section(const struct ada_planner *planner, const struct ada_run *a, const struct ada_run *b)
{
	return ada_code_of(planner, planner->text_start + a->start) == ada_code_of(planner, planner->text_start + b->start);
}

/* Jumps into another run: what they make anew is a copy, and so comes after all else. */
static int join_jump(struct ada_planner *planner, uint32_t number)
{
	struct ada_block block = planner->registers->blocks.items[number];
	bool found;
	int status;

	if (block.end != ADA_END_OUT)
		return 0;
	status = block_at(planner, block.target, &block.target, &found);
	block.end = found ? ADA_END_LOCAL : ADA_END_UNKNOWN;
	planner->registers->blocks.items[number] = block;
	return status;
}

static int number_order(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* What lies behind a call of an import that never returns is reached by other ways, or not at all. */
static void end_at_endless(const struct ada_registers *registers, struct ada_block *block)
{
	if (block->calls && block->end == ADA_END_IMPORT && registers->endless.count &&
	    bsearch(&block->target, registers->endless.items, registers->endless.count, sizeof block->target, number_order))
		block->goes_on = false;
}

static void join_block(struct ada_planner *planner, uint32_t run, uint32_t number)
{
	struct ada_registers *registers = planner->registers;
	struct ada_block block = registers->blocks.items[number];

	end_at_endless(registers, &registers->blocks.items[number]);
	if (block.end != ADA_END_FUNCTION && block.end != ADA_END_BEHIND && block.end != ADA_END_OUT)
		return;
	if (block.end == ADA_END_BEHIND && run + 1 < registers->runs.count &&
	    same_section(planner, &registers->runs.items[run], &registers->runs.items[run + 1])) {
		const struct ada_run *next = &registers->runs.items[run + 1];

		block.end = next->function == ADA_PLAN_NONE ? ADA_END_LOCAL : ADA_END_FUNCTION;
		block.target = next->function == ADA_PLAN_NONE ? next->first : next->function;
	} else if (block.end == ADA_END_BEHIND || (block.end == ADA_END_OUT && block.calls)) {
		block.end = ADA_END_UNKNOWN;
	}
	if (block.end == ADA_END_FUNCTION && registers->run_of[block.target] == ADA_PLAN_NONE)
		block.end = ADA_END_UNKNOWN;
	else if (block.end == ADA_END_FUNCTION)
		block.target = registers->runs.items[registers->run_of[block.target]].first;
	registers->blocks.items[number] = block;
}

int ada_blocks_join(struct ada_planner *planner)
{
	struct ada_registers *registers = planner->registers;
	int status = 0;

	registers->run_of = malloc((planner->functions.count + 1) * sizeof *registers->run_of);
	if (!registers->run_of)
		return -ENOMEM;
	for (size_t i = 0; i < planner->functions.count; i++)
		registers->run_of[i] = ADA_PLAN_NONE;
	for (uint32_t i = 0; i < registers->runs.count; i++) {
		uint32_t number = registers->runs.items[i].function;

		if (number != ADA_PLAN_NONE && !planner->functions.items[number].refusal && !planner->functions.items[number].undecodable)
			registers->run_of[number] = i;
	}
	ada_array_sort(&registers->endless, number_order);
	if (ada_array_reserve(&registers->run_of_block, registers->blocks.count))
		return -ENOMEM;
	for (uint32_t i = 0; i < registers->runs.count; i++)
		for (uint32_t k = 0; k < registers->runs.items[i].count; k++) {
			registers->run_of_block.items[registers->run_of_block.count++] = i;
			join_block(planner, i, registers->runs.items[i].first + k);
		}
	for (uint32_t i = 0; i < registers->blocks.count && !status; i++)
		status = join_jump(planner, i);
	return status;
}
