/* Decodes all code once, piece by piece, and notes what later stages ask about: branches that land near an entry or come
 * from outside a function, uses of the GOT, addresses that may be jump tables, and padding between functions. */
#include <errno.h>
#include <stdlib.h>
#include "plan/code/walk.h"
#include "plan/registers/registers.h"

struct walk { /* through one piece */
	uint32_t piece;
	uint64_t start, end;
	uint64_t outer_start; /* of the outermost function that still covers the piece */
	bool jumps_indirectly, undecodable, flow_ends;
	bool touches_return; /* its own return address, if the piece is a function */
	bool is_part;	     /* or may be one */
	struct ada_caller_walk caller;
	struct ada_elf_addresses data, labels; /* addresses taken: of data, and of this file's code */
	struct ada_elf_addresses branches;     /* where branches inside the piece lead */
};

static bool bit(const struct ada_planner *planner, const uint8_t *bits, uint64_t address)
{
	uint64_t offset = address - planner->text_start;

	return address >= planner->text_start && address < planner->text_end && bits[offset / 8] >> offset % 8 & 1;
}

static int add_target(struct ada_planner *planner, uint64_t address, uint64_t source, bool call)
{
	return ada_array_push(&planner->targets, (struct ada_target){ .address = address, .source = source, .call = call });
}

int ada_reference_add(struct ada_planner *planner, uint64_t address)
{
	if (bit(planner, planner->is_start, address)) {
		ada_part_reached(planner, address, false);
		return 0;
	}
	if (!bit(planner, planner->near_entry, address))
		return 0;
	return add_target(planner, address, 0, false);
}

/* A call of the next instruction reads its own address. */
static int note_call(struct ada_planner *planner, const ZydisDecodedInstruction *instruction, uint64_t at, uint64_t target)
{
	const struct ada_call call = { .behind = at + instruction->length, .target = target };

	if (!ada_is_call(instruction) || instruction->length != ADA_CALL_BYTES || target == call.behind ||
	    !bit(planner, planner->is_start, target))
		return 0;
	return ada_array_push(&planner->calls, call);
}

/* Forgets the piece's calls, those from number `first` on, where they may be no calls: what looks like one among bytes that don't decode,
 * or one that a branch leads into. */
static void settle_calls(struct ada_planner *planner, const struct walk *walk, size_t first)
{
	if (walk->undecodable)
		planner->calls.count = first;
	for (size_t i = 0; i < walk->branches.count && planner->calls.count > first; i++) {
		size_t at = ada_array_below(&planner->calls, behind, walk->branches.items[i] + 1);

		if (at < planner->calls.count && planner->calls.items[at].behind - ADA_CALL_BYTES < walk->branches.items[i])
			planner->calls.items[at].target = 0;
	}
}

static int note_branch(struct ada_planner *planner, struct walk *walk, uint64_t source, uint64_t target, bool call)
{
	if (bit(planner, planner->is_start, target)) {
		if (!call && ada_part_reached(planner, target, walk->is_part) && walk->is_part)
			return add_target(planner, target, source, false);
		/* A jump from within a function to its own entry is a loop. Any other jump is a tail call. */
		if (!call && target >= walk->outer_start && target <= walk->start)
			return add_target(planner, target, source, false);
		return 0;
	}
	if (bit(planner, planner->near_entry, target) ||
	    ((target < walk->start || target >= walk->end) && target >= planner->text_start && target < planner->text_end))
		return add_target(planner, target, source, call);
	return call ? 0 : ada_array_push(&walk->branches, target);
}

static struct ada_slot_use *slot_at(const struct ada_planner *planner, uint64_t address)
{
	size_t at = ada_array_below(&planner->slots, address, address);

	return at < planner->slots.count && planner->slots.items[at].address == address ? &planner->slots.items[at] : NULL;
}

static bool is_indirect_branch(const ZydisDecodedInstruction *instruction)
{
	return instruction->opcode == 0xff && instruction->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT &&
	       (instruction->raw.modrm.reg == 2 || instruction->raw.modrm.reg == 4);
}

/* `address` occurs as an operand: a slot of the GOT, a jump table, a label. */
static int note_operand(struct ada_planner *planner, struct walk *walk, const ZydisDecodedInstruction *instruction, uint64_t address)
{
	struct ada_slot_use *slot = slot_at(planner, address);

	if (slot && is_indirect_branch(instruction))
		slot->called = true;
	else if (slot)
		slot->read = true;
	if (slot)
		return 0;
	if (address >= planner->text_start && address < planner->text_end) {
		if (!bit(planner, planner->is_start, address) && address >= walk->start && address < walk->end &&
		    ada_array_push(&walk->labels, address))
			return -ENOMEM;
		return ada_reference_add(planner, address);
	}
	if (address >= planner->elf->address_start && address < planner->elf->address_end)
		return ada_array_push(&walk->data, address);
	return 0;
}

static int note_instruction(struct ada_planner *planner, struct walk *walk, const ZydisDecodedInstruction *instruction, uint64_t at)
{
	const bool has_modrm = instruction->attributes & ZYDIS_ATTRIB_HAS_MODRM;
	uint64_t target;
	int status = 0;

	planner->moves_base |= instruction->mnemonic == ZYDIS_MNEMONIC_WRFSBASE;
	if (ada_branch_target(instruction, at, &target)) {
		status = note_call(planner, instruction, at, target);
		return status ? status : note_branch(planner, walk, at, target, ada_is_call(instruction));
	}
	if (ada_is_rip_relative(instruction))
		status = note_operand(planner, walk, instruction, at + instruction->length + (uint64_t)instruction->raw.disp.value);
	if (has_modrm && is_indirect_branch(instruction) && instruction->raw.modrm.reg == 4 && !ada_is_rip_relative(instruction))
		walk->jumps_indirectly = true;
	/* At a fixed address, constants are addresses. */
	if (planner->elf->kind == ADA_ELF_EXEC && !status) {
		if (instruction->raw.imm[0].size == 32)
			status = note_operand(planner, walk, instruction, (uint32_t)instruction->raw.imm[0].value.u);
		if (!status && instruction->raw.disp.size == 32 && !ada_is_rip_relative(instruction))
			status = note_operand(planner, walk, instruction, (uint32_t)instruction->raw.disp.value);
	}
	return status;
}

/* In a function that jumps through a register, data whose address the function takes may be a jump table. The table's
 * entries count from the table itself or from a label. */
static int note_tables(struct ada_planner *planner, const struct walk *walk)
{
	for (size_t i = 0; i < walk->data.count; i++) {
		struct ada_table_use use = { .table = walk->data.items[i], .base = walk->data.items[i], .piece = walk->piece };

		if (ada_array_push(&planner->tables, use))
			return -ENOMEM;
		for (size_t k = 0; k < walk->labels.count && k < 16; k++) {
			use.base = walk->labels.items[k];
			if (ada_array_push(&planner->tables, use))
				return -ENOMEM;
		}
	}
	return 0;
}

/* `function`: the one that begins with it, or ADA_PLAN_NONE. */
static int walk_piece(struct ada_planner *planner, struct walk *walk, uint32_t function, const uint8_t *bytes)
{
	ZydisDecodedInstruction instruction;
	size_t calls = planner->calls.count;
	uint64_t at = walk->start;

	walk->jumps_indirectly = walk->undecodable = walk->flow_ends = walk->touches_return = false;
	ada_caller_start(&walk->caller);
	walk->data.count = walk->labels.count = walk->branches.count = 0;
	while (at < walk->end) {
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&planner->decoder, NULL, bytes + (at - walk->start), walk->end - at,
								&instruction))) {
			walk->undecodable = true;
			walk->flow_ends = false;
			if (ada_registers_note_undecodable(planner, at))
				return -ENOMEM;
			at++;
			continue;
		}
		if (note_instruction(planner, walk, &instruction, at) ||
		    ada_registers_note(planner, &instruction, bytes + (at - walk->start), at))
			return -ENOMEM;
		walk->touches_return |= ada_caller_step(&walk->caller, &instruction);
		/* A call that ends a piece never returns: compilers leave out only what can't be reached. */
		if (!ada_is_padding(&instruction))
			walk->flow_ends = ada_ends_flow(&instruction) || ada_is_call(&instruction);
		else if (instruction.mnemonic == ZYDIS_MNEMONIC_INT3)
			walk->flow_ends = true;
		at += instruction.length;
	}
	settle_calls(planner, walk, calls);
	if (ada_registers_end_run(planner, walk->start, walk->end, function))
		return -ENOMEM;
	return walk->jumps_indirectly ? note_tables(planner, walk) : 0;
}

/* The bytes behind a piece: padding if nothing falls into them, else code that no symbol names. */
static int walk_gap(struct ada_planner *planner, struct walk *walk, uint64_t next, const uint8_t *bytes)
{
	ZydisDecodedInstruction instruction;
	uint64_t at = walk->end;

	while (at < next &&
	       ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&planner->decoder, NULL, bytes + (at - walk->end), next - at, &instruction)) &&
	       ada_is_padding(&instruction))
		at += instruction.length;
	if (at > walk->end && walk->flow_ends && !walk->undecodable &&
	    ada_array_push(&planner->pads, (struct ada_pad){ .start = walk->end, .end = at }))
		return -ENOMEM;
	bytes += at - walk->end;
	walk->start = at;
	walk->end = next;
	walk->is_part = true;
	return at < next ? walk_piece(planner, walk, ADA_PLAN_NONE, bytes) : 0;
}

static int slot_order(const void *a, const void *b)
{
	const struct ada_slot_use *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static int prepare_slots(struct ada_planner *planner)
{
	for (size_t i = 0; i < planner->relocs.slots.count; i++) {
		const struct ada_elf_slot *slot = &planner->relocs.slots.items[i];
		struct ada_slot_use use = { .address = slot->address, .symbol = slot->symbol, .jump_slot = slot->jump_slot };

		if (ada_array_push(&planner->slots, use))
			return -ENOMEM;
	}
	ada_array_sort(&planner->slots, slot_order);
	return 0;
}

/* What the loader and the unwinder know: pointers to code in data, and landing pads. */
static int note_references(struct ada_planner *planner)
{
	struct ada_elf_addresses pads = { 0 };
	int status = 0;

	for (size_t i = 0; i < planner->relocs.pointers.count && !status; i++)
		status = ada_reference_add(planner, planner->relocs.pointers.items[i]);
	for (size_t i = 0; i < planner->frames.count && !status; i++)
		if (planner->frames.items[i].lsda)
			status = ada_elf_landing_pads(planner->elf, &planner->frames.items[i], &pads);
	for (size_t i = 0; i < pads.count && !status; i++)
		status = ada_reference_add(planner, pads.items[i]);
	ada_array_free(&pads);
	return status;
}

int ada_sweep(struct ada_planner *planner)
{
	struct walk walk = { 0 };
	uint64_t covered_start = 0, covered_end = 0, rest;
	int status = prepare_slots(planner);

	if (!status)
		status = ada_registers_begin(planner);
	for (uint32_t i = 0; i < planner->pieces.count && !status; i++) {
		const struct ada_piece *piece = &planner->pieces.items[i];
		const uint8_t *bytes = ada_code_at(planner, piece->start, &rest);
		uint64_t next = i + 1 < planner->pieces.count ? planner->pieces.items[i + 1].start : UINT64_MAX;
		struct ada_function *function = piece->function == ADA_PLAN_NONE ? NULL : &planner->functions.items[piece->function];

		if (next > piece->start + rest)
			next = piece->start + rest;
		if (piece->start >= covered_end)
			covered_start = piece->start;
		if (function && function->end > covered_end)
			covered_end = function->end;
		walk.piece = i;
		walk.start = piece->start;
		walk.end = piece->end;
		walk.outer_start = covered_start;
		walk.is_part = ada_piece_is_part(planner, piece);
		status = walk_piece(planner, &walk, piece->function, bytes);
		if (function)
			function->undecodable = walk.undecodable;
		if (function && walk.touches_return && !function->refusal && !(function->flags & ADA_FUNCTION_INTERCEPT))
			function->refusal = ADA_REFUSAL_CALLER_LOOKUP;
		if (!status && piece->end < next)
			status = walk_gap(planner, &walk, next, bytes + (piece->end - piece->start));
	}
	ada_array_free(&walk.data);
	ada_array_free(&walk.labels);
	ada_array_free(&walk.branches);
	return status ? status : note_references(planner);
}
