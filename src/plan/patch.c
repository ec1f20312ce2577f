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
 * A patch is refused where anything may continue strictly inside it: the bytes there are no instruction any more. And where
 * something names an instruction that the patch moves: handlers of faults compare the instruction pointer with such labels.
 */
#include <errno.h>
#include "plan/patch.h"

#define LOOP_MAX_BYTES 160u		/* of a loop that is copied whole */

static uint64_t next_piece(const struct ada_planner *planner, uint64_t address)
{
	size_t next = ada_array_below(&planner->pieces, start, address + 1);

	return next < planner->pieces.count ? planner->pieces.items[next].start : UINT64_MAX;
}

bool ada_window_entered(const struct ada_planner *planner, uint64_t start, uint64_t end)
{
	size_t i = ada_targets_from(planner, start + 1);

	return i < planner->targets.count && planner->targets.items[i].address < end;
}

bool ada_window_named(const struct ada_planner *planner, const struct ada_function *function, uint64_t start, uint64_t end)
{
	ZydisDecodedInstruction instruction;

	if (function->flags & ADA_FUNCTION_INTERCEPT)	/* libc's own */
		return false;
	for (size_t i = ada_array_below(&planner->labels, address, start); i < planner->labels.count; i++) {
		const struct ada_label *label = &planner->labels.items[i];

		if (label->address >= end)
			break;
		if (!label->alone || label->address != function->address)
			return true;
	}
	for (size_t i = ada_targets_from(planner, start + 1); i < planner->targets.count; i++) {
		if (planner->targets.items[i].address >= end)
			break;
		if (!planner->targets.items[i].source)
			return true;
	}
	for (uint64_t at = start; at < end && ada_decode(planner, at, end, &instruction); at += instruction.length)
		if (at > start && ada_is_endbr(&instruction))	/* whoever jumps there */
			return true;
	return false;
}

/* In a function that does not decode throughout, a branch may hide at any byte. */
static bool may_hide_branch(const struct ada_planner *planner, const struct ada_function *function, uint64_t start, uint64_t end)
{
	uint64_t rest;
	const uint8_t *bytes = ada_code_at(planner, function->address, &rest);

	if (rest > function->end - function->address)
		rest = function->end - function->address;
	for (uint64_t i = 0; i + 1 < rest; i++) {
		uint64_t near = function->address + i + 2 + (uint64_t)(int8_t)bytes[i + 1], far = 0;
		uint8_t opcode = bytes[i];

		if (i + 6 <= rest && opcode == 0x0f && (bytes[i + 1] & 0xf0) == 0x80)
			far = function->address + i + 6 + (uint64_t)(int32_t)ada_read32(bytes + i + 2);
		else if (i + 5 <= rest && (opcode == 0xe8 || opcode == 0xe9))
			far = function->address + i + 5 + (uint64_t)(int32_t)ada_read32(bytes + i + 1);
		if (far > start && far < end)
			return true;
		if (((opcode & 0xf0) == 0x70 || opcode == 0xeb || (opcode >= 0xe0 && opcode <= 0xe3)) &&
		    near > start && near < end)
			return true;
	}
	return false;
}

struct ada_pad *ada_pad_at(const struct ada_planner *planner, uint64_t address)
{
	size_t at = ada_array_below(&planner->pads, end, address + 1);

	return at < planner->pads.count && planner->pads.items[at].start <= address ? &planner->pads.items[at] : NULL;
}

enum ada_refusal ada_window_try(const struct ada_planner *planner, const struct ada_function *function, uint64_t start,
				unsigned bytes, struct ada_window *window)
{
	ZydisDecodedInstruction instruction;
	uint64_t end = start + bytes, at = start;
	const struct ada_pad *pad;
	bool ended = false;

	*window = (struct ada_window){.start = start, .end = end, .nops = true};
	while (at < end && at < function->end && !ended) {
		if (!ada_decode(planner, at, function->end, &instruction))
			return ADA_REFUSAL_UNDECODABLE;
		at += instruction.length;
		if (ada_is_call(&instruction) && at < end)
			return ADA_REFUSAL_CALL_INSIDE;
		ended = ada_ends_flow(&instruction);
		if (instruction.mnemonic != ZYDIS_MNEMONIC_NOP)
			window->nops = false;
	}
	window->copied_end = at;
	if (end > function->end) {
		pad = ada_pad_at(planner, function->end);
		if (!pad || pad->start != function->end || pad->end < end)
			return ADA_REFUSAL_TOO_SHORT;
		window->padding = true;
		window->nops = false;
		if (!ended && !ada_is_call(&instruction))
			return ADA_REFUSAL_TOO_SHORT;
	}
	/* Also one that begins at `start`, behind this function's endbr64: it is patched there itself. */
	if (next_piece(planner, function->address) < end)
		return ADA_REFUSAL_OVERLAP;
	if (ada_window_entered(planner, start, end) ||
	    (function->undecodable && may_hide_branch(planner, function, start, end)))
		return ADA_REFUSAL_BRANCH_TARGET;
	if (!window->nops && ada_window_named(planner, function, start, window->copied_end))
		return ADA_REFUSAL_LABEL;
	return ADA_REFUSAL_NONE;
}

/* The patch's own first byte is where a loop begins: it would be recorded as a call each time round. */
bool ada_window_loops(const struct ada_planner *planner, const struct ada_function *function, uint64_t start)
{
	for (size_t i = ada_targets_from(planner, start); i < planner->targets.count; i++) {
		const struct ada_target *target = &planner->targets.items[i];

		if (target->address != start)
			break;
		if (!target->call && (!target->source || (target->source >= function->address && target->source < function->end)))
			return true;
	}
	return false;
}

static bool is_inner(const struct ada_target *target, uint64_t start, uint64_t end)
{
	return target->source && !target->call && target->source >= start && target->source < end;
}

/* The end of the shortest run of instructions from `start` that holds every branch into itself; 0: there is none. */
static uint64_t find_closed_run(const struct ada_planner *planner, const struct ada_function *function,
				uint64_t start, uint64_t patch_end)
{
	uint64_t limit = start + LOOP_MAX_BYTES < function->end ? start + LOOP_MAX_BYTES : function->end;
	uint64_t end = patch_end, at, target;
	ZydisDecodedInstruction instruction;
	bool grown;

	do {
		grown = false;
		/* From outside the function, from data, and near the entry. */
		for (size_t i = ada_targets_from(planner, start); i < planner->targets.count; i++) {
			const struct ada_target *entering = &planner->targets.items[i];

			if (entering->address >= end)
				break;
			if (!is_inner(entering, function->address, function->end) &&
			    (entering->address > start || !entering->source))
				return 0;
		}
		/* From the function: branches to `start` itself may come from anywhere in it. */
		for (at = function->address; at < function->end; at += instruction.length) {
			if (!ada_decode(planner, at, function->end, &instruction))
				return 0;
			if (ada_branch_target(&instruction, at, &target) && target >= start && target < end &&
			    !ada_is_call(&instruction) && at + instruction.length > end) {
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

	if (function->undecodable || patch_end > function->end || next_piece(planner, function->address) < function->end ||
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

	if (bytes && rest >= ADA_ENDBR_BYTES && function->end - function->address > ADA_ENDBR_BYTES &&
	    ada_read32(bytes) == 0xfa1e0ff3)
		return function->address + ADA_ENDBR_BYTES;
	return function->address;
}

void ada_window_take_padding(const struct ada_planner *planner, const struct ada_function *function,
			     const struct ada_window *window)
{
	if (window->padding)
		ada_pad_at(planner, function->end)->start = window->end;
}

int ada_window_hook(struct ada_planner *planner, uint32_t number, const struct ada_window *window, enum ada_patch_form form)
{
	struct ada_function *function = &planner->functions.items[number];
	uint64_t compared_end = window->copied_end > window->end ? window->copied_end : window->end;
	enum ada_refusal refusal;
	struct ada_body body;

	/* NOPs need no copy: only the jump back. */
	refusal = ada_relocate(planner, form == ADA_PATCH_NOP ? window->copied_end : window->start, window->copied_end,
			       window->copied_end, &body);
	if (refusal) {
		function->refusal = (uint16_t)refusal;
		return 0;
	}
	return ada_hook_add(planner, number, window->start, form, compared_end, &body);
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
		return ada_window_hook(planner, number, &window, window.padding ? ADA_PATCH_PADDING :
				       window.nops ? ADA_PATCH_NOP : ADA_PATCH_JUMP);
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

/* Most copies are plain, and share theirs. */
static int add_origins(struct ada_planner *planner, const struct ada_body *body, uint32_t *first)
{
	static const struct ada_plan_origin plain = {0, 0, 0, 0}, end = {.body = ADA_ORIGIN_END};

	*first = 0;
	if (!planner->origins.count && (ada_array_push(&planner->origins, plain) || ada_array_push(&planner->origins, end)))
		return -ENOMEM;
	if (body->origin_count <= 1)
		return 0;
	*first = (uint32_t)planner->origins.count;
	for (unsigned i = 0; i < body->origin_count; i++)
		if (ada_array_push(&planner->origins, body->origins[i]))
			return -ENOMEM;
	return ada_array_push(&planner->origins, end) ? -ENOMEM : 0;
}

int ada_hook_replace(struct ada_planner *planner, uint32_t number, uint64_t compared_end, const struct ada_body *body)
{
	struct ada_plan_hook *hook = &planner->hooks.items[number];
	uint64_t rest, bytes = compared_end - hook->patch_address;

	hook->body_offset = (uint32_t)planner->bodies.count;
	hook->body_bytes = (uint8_t)body->length;
	hook->reloc_first = (uint32_t)planner->plan_relocs.count;
	hook->reloc_count = (uint8_t)body->reloc_count;
	hook->patch_bytes = bytes < sizeof hook->expected ? (uint8_t)bytes : (uint8_t)sizeof hook->expected;
	memcpy(hook->expected, ada_code_at(planner, hook->patch_address, &rest), hook->patch_bytes);
	if (ada_array_reserve(&planner->bodies, body->length) || ada_array_reserve(&planner->plan_relocs, body->reloc_count))
		return -ENOMEM;
	memcpy(planner->bodies.items + planner->bodies.count, body->bytes, body->length);
	planner->bodies.count += body->length;
	for (unsigned i = 0; i < body->reloc_count; i++)
		planner->plan_relocs.items[planner->plan_relocs.count++] = body->relocs[i];
	return add_origins(planner, body, &hook->origin_first);
}

int ada_hook_add(struct ada_planner *planner, uint32_t number, uint64_t address, enum ada_patch_form form,
		 uint64_t compared_end, const struct ada_body *body)
{
	struct ada_function *function = &planner->functions.items[number];
	struct ada_plan_hook hook = {.patch_address = address, .function = number, .form = (uint8_t)form,
				     .flags = ADA_HOOK_READS_VECTORS};

	if (function->red_zone)
		hook.flags |= ADA_HOOK_RED_ZONE;
	function->hook = (uint32_t)planner->hooks.count;
	function->refusal = ADA_REFUSAL_NONE;
	if (ada_array_push(&planner->hooks, hook))
		return -ENOMEM;
	return ada_hook_replace(planner, function->hook, compared_end, body);
}

int ada_patch_all(struct ada_planner *planner)
{
	int result = 0;

	for (uint32_t i = 0; i < planner->functions.count && !result; i++) {
		const struct ada_function *function = &planner->functions.items[i];

		if (!function->refusal && (planner->options->decode || function->flags & ADA_FUNCTION_INTERCEPT))
			result = patch_function(planner, i);
	}
	if (!result)
		result = ada_islands_place(planner);
	for (uint32_t i = 0; i < planner->functions.count && !result && planner->options->int3; i++)
		if (ada_refusal_is_of_place(planner->functions.items[i].refusal))
			result = patch_int3(planner, i);
	return result;
}
