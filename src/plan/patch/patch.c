/* Where and how each function is patched. The forms in order of preference:
 *
 *   NOP       jmp rel32 over NOPs that lie there for the purpose
 *   JUMP      jmp rel32 over the first instructions
 *   PADDING   the same, reaching into the padding behind a short function
 *   JUMP      over a loop: all instructions up to the last that branches back into the patch are copied, if nothing enters
 *             them from outside; the loop then runs in the copy
 *   ISLAND    jmp rel8 over the first two bytes to a jmp rel32 in dead bytes nearby (island.c)
 *   INT3      if asked
 *
 * A patch is refused where anything may continue strictly inside it: the bytes there are no instruction any more. A patch is also
 * refused where something names an instruction that it moves: handlers of faults compare the instruction pointer with such labels.
 */
#include <errno.h>
#include "plan/patch/patch.h"
#include "plan/patch/window.h"

#define LOOP_MAX_BYTES 160u /* of a loop that is copied whole */

static bool is_inner(const struct ada_target *target, uint64_t start, uint64_t end)
{
	return target->source && !target->call && target->source >= start && target->source < end;
}

/* The end of the shortest run of instructions from `start` that holds every branch into itself; 0: there is none. */
static uint64_t find_closed_run(const struct ada_planner *planner, const struct ada_function *function, uint64_t start, uint64_t patch_end)
{
	uint64_t limit = start + LOOP_MAX_BYTES < function->end ? start + LOOP_MAX_BYTES : function->end;
	uint64_t end = patch_end, at, target;
	ZydisDecodedInstruction instruction;
	bool grown;

	do {
		grown = false;
		/* Targets from outside the function, from data, and near the entry. */
		for (size_t i = ada_targets_from(planner, start); i < planner->targets.count; i++) {
			const struct ada_target *entering = &planner->targets.items[i];

			if (entering->address >= end)
				break;
			if (!is_inner(entering, function->address, function->end) && (entering->address > start || !entering->source))
				return 0;
		}
		/* Branches of the function: those to `start` itself may come from anywhere in it. */
		for (at = function->address; at < function->end; at += instruction.length) {
			if (!ada_decode(planner, at, function->end, &instruction))
				return 0;
			if (ada_branch_target(&instruction, at, &target) && target >= start && target < end && !ada_is_call(&instruction) &&
			    at + instruction.length > end) {
				end = at + instruction.length;
				grown = true;
			}
			if (at < end && at + instruction.length > end) {
				end = at + instruction.length;
				grown = true;
			}
			if (at >= start && at < end && ada_is_call(&instruction))
				return 0;
			/* A jump through a table may enter anywhere. */
			if (instruction.mnemonic == ZYDIS_MNEMONIC_JMP && !instruction.raw.imm[0].is_relative &&
			    !ada_is_rip_relative(&instruction))
				return 0;
			if (end > limit)
				return 0;
		}
	} while (grown);
	return end;
}

static int try_loop(struct ada_planner *planner, uint32_t number, uint64_t start)
{
	const struct ada_function *function = &planner->functions.items[number];
	uint64_t patch_end = start + ADA_JUMP_BYTES, end;

	const struct ada_elf_frame *frame = ada_elf_frames_find(&planner->frames, function->address);
	struct ada_body body;

	if (function->undecodable || patch_end > function->end || ada_piece_behind(planner, function->address) < function->end ||
	    (frame && frame->lsda))
		return 0;
	end = find_closed_run(planner, function, start, patch_end);
	if (!end || ada_window_named(planner, function, start, end) || ada_relocate(planner, start, end, start, &body))
		return 0;
	return ada_hook_add(planner, number, start, ADA_PATCH_JUMP, end, &body);
}

static uint64_t patch_start(const struct ada_planner *planner, const struct ada_function *function)
{
	uint64_t rest;
	const uint8_t *bytes = ada_code_at(planner, function->address, &rest);

	if (bytes && rest >= ADA_ENDBR_BYTES && function->end - function->address > ADA_ENDBR_BYTES && ada_read32(bytes) == 0xfa1e0ff3)
		return function->address + ADA_ENDBR_BYTES;
	return function->address;
}

static int patch_function(struct ada_planner *planner, uint32_t number)
{
	struct ada_function *function = &planner->functions.items[number];
	uint64_t start = patch_start(planner, function);
	struct ada_window window;
	enum ada_refusal refusal = ada_window_try(planner, function, start, ADA_JUMP_BYTES, &window);
	bool loops = ada_window_loops(planner, function, start);

	if (!refusal && !loops) {
		ada_window_take_padding(planner, function, &window);
		return ada_window_hook(planner, number, &window,
				       window.padding ? ADA_PATCH_PADDING :
				       window.nops    ? ADA_PATCH_NOP :
							ADA_PATCH_JUMP);
	}
	if (loops)
		refusal = ADA_REFUSAL_BRANCH_TARGET;
	function->refusal = (uint16_t)refusal;
	return refusal == ADA_REFUSAL_BRANCH_TARGET ? try_loop(planner, number, start) : 0;
}

static int patch_int3(struct ada_planner *planner, uint32_t number)
{
	struct ada_function *function = &planner->functions.items[number];
	uint64_t start = patch_start(planner, function);
	struct ada_window window;

	if (ada_window_loops(planner, function, start) || ada_window_try(planner, function, start, 1, &window))
		return 0;
	return ada_window_hook(planner, number, &window, ADA_PATCH_INT3);
}

int ada_patch_all(struct ada_planner *planner)
{
	int status = 0;

	for (uint32_t i = 0; i < planner->functions.count && !status; i++) {
		const struct ada_function *function = &planner->functions.items[i];

		if (!function->refusal && (planner->options->decode || function->flags & ADA_FUNCTION_INTERCEPT))
			status = patch_function(planner, i);
	}
	if (!status)
		status = ada_islands_place(planner);
	for (uint32_t i = 0; i < planner->functions.count && !status && planner->options->int3; i++)
		if (ada_refusal_is_of_place(planner->functions.items[i].refusal))
			status = patch_int3(planner, i);
	return status;
}
