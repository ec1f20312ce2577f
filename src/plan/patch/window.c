/* Which bytes at an entry a patch may take, and the hook that does: see window.h. */
#include <errno.h>
#include "plan/patch/window.h"

bool ada_window_entered(const struct ada_planner *planner, uint64_t start, uint64_t end)
{
	size_t i = ada_targets_from(planner, start + 1);

	return i < planner->targets.count && planner->targets.items[i].address < end;
}

bool ada_window_named(const struct ada_planner *planner, const struct ada_function *function, uint64_t start, uint64_t end)
{
	ZydisDecodedInstruction instruction;

	if (function->flags & ADA_FUNCTION_INTERCEPT) /* libc's own */
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
		if (at > start && ada_is_endbr(&instruction)) /* whoever jumps there */
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
		if (((opcode & 0xf0) == 0x70 || opcode == 0xeb || (opcode >= 0xe0 && opcode <= 0xe3)) && near > start && near < end)
			return true;
	}
	return false;
}

struct ada_pad *ada_pad_at(const struct ada_planner *planner, uint64_t address)
{
	size_t at = ada_array_below(&planner->pads, end, address + 1);

	return at < planner->pads.count && planner->pads.items[at].start <= address ? &planner->pads.items[at] : NULL;
}

enum ada_refusal ada_window_try(const struct ada_planner *planner, const struct ada_function *function, uint64_t start, unsigned bytes,
				struct ada_window *window)
{
	ZydisDecodedInstruction instruction;
	uint64_t end = start + bytes, at = start;
	const struct ada_pad *pad;
	bool ended = false;

	*window = (struct ada_window){ .start = start, .end = end, .nops = true };
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
	/* This includes a piece that begins at `start`, behind this function's endbr64: that piece is patched there itself. */
	if (ada_piece_behind(planner, function->address) < end)
		return ADA_REFUSAL_OVERLAP;
	if (ada_window_entered(planner, start, end) || (function->undecodable && may_hide_branch(planner, function, start, end)))
		return ADA_REFUSAL_BRANCH_TARGET;
	if (!window->nops && ada_window_named(planner, function, start, window->copied_end))
		return ADA_REFUSAL_LABEL;
	return ADA_REFUSAL_NONE;
}

/* True where a loop begins at the patch's first byte: each round would be recorded as a call. */
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

void ada_window_take_padding(const struct ada_planner *planner, const struct ada_function *function, const struct ada_window *window)
{
	if (window->padding)
		ada_pad_at(planner, function->end)->start = window->end;
}

/* Most copies are plain and share one list of origins. */
static int add_origins(struct ada_planner *planner, const struct ada_body *body, uint32_t *first)
{
	static const struct ada_plan_origin plain = { 0, 0, 0, 0 }, end = { .body = ADA_ORIGIN_END };

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

int ada_hook_add(struct ada_planner *planner, uint32_t number, uint64_t address, enum ada_patch_form form, uint64_t compared_end,
		 const struct ada_body *body)
{
	struct ada_function *function = &planner->functions.items[number];
	struct ada_plan_hook hook = { .patch_address = address,
				      .function = number,
				      .form = (uint8_t)form,
				      .free_at_entry = function->free_at_entry,
				      .free_at_exit = function->free_at_exit };

	if (function->reads_vectors)
		hook.flags |= ADA_HOOK_READS_VECTORS;
	if (function->red_zone)
		hook.flags |= ADA_HOOK_RED_ZONE;
	function->hook = (uint32_t)planner->hooks.count;
	function->refusal = ADA_REFUSAL_NONE;
	if (ada_array_push(&planner->hooks, hook))
		return -ENOMEM;
	return ada_hook_replace(planner, function->hook, compared_end, body);
}

int ada_window_hook(struct ada_planner *planner, uint32_t number, const struct ada_window *window, enum ada_patch_form form)
{
	struct ada_function *function = &planner->functions.items[number];
	uint64_t compared_end = window->copied_end > window->end ? window->copied_end : window->end;
	enum ada_refusal refusal;
	struct ada_body body;

	/* NOPs need no copy: only the jump back. */
	refusal = ada_relocate(planner, form == ADA_PATCH_NOP ? window->copied_end : window->start, window->copied_end, window->copied_end,
			       &body);
	if (refusal) {
		function->refusal = (uint16_t)refusal;
		return 0;
	}
	return ada_hook_add(planner, number, window->start, form, compared_end, &body);
}
