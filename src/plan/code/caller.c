/* Functions that touch their own return address: __builtin_return_address, unwinders, setjmp, thunks that pop it. While a
 * stub stands there, they would not find their caller.
 *
 * The walk goes with the sweep. From the entry until the flow first ends, the walk knows how far the stack pointer is below the
 * slot of the return address, as far as compilers move the pointer by constants; a frame pointer set on that way stays known. In
 * files that aren't swept, the walk looks at what others may call: a getcontext by any name saves its return address at once.
 */
#include "plan/code/code.h"
#include "plan/code/walk.h"

enum { RSP = 4, RBP = 5 };
#define NOT_KNOWN INT64_MIN
#define UNSWEPT_MAX 64 /* instructions */

void ada_caller_start(struct ada_caller_walk *walk)
{
	*walk = (struct ada_caller_walk){ .below_slot = 0, .frame_below_slot = NOT_KNOWN };
}

/* The base register of a memory operand without index; -1: there is no such operand. */
static int memory_base(const ZydisDecodedInstruction *instruction)
{
	const bool extended = instruction->raw.rex.B;
	unsigned mod = instruction->raw.modrm.mod, rm = instruction->raw.modrm.rm;

	if (!(instruction->attributes & ZYDIS_ATTRIB_HAS_MODRM) || mod == 3 || extended)
		return -1;
	if (rm != RSP)
		return rm == RBP && !mod ? -1 : (int)rm;
	if (instruction->raw.sib.index != RSP || instruction->raw.rex.X || (instruction->raw.sib.base == RBP && !mod))
		return -1;
	return instruction->raw.sib.base;
}

/* A memory barrier: what is on top of the stack, be it the return address, stays as it is, and nobody learns of it. */
static bool is_barrier(const ZydisDecodedInstruction *instruction)
{
	return instruction->attributes & ZYDIS_ATTRIB_HAS_LOCK &&
	       (instruction->mnemonic == ZYDIS_MNEMONIC_ADD || instruction->mnemonic == ZYDIS_MNEMONIC_OR) &&
	       instruction->raw.imm[0].size && !instruction->raw.imm[0].value.s;
}

static bool touches_slot(const struct ada_caller_walk *walk, const ZydisDecodedInstruction *instruction)
{
	int64_t displacement = instruction->raw.disp.value;

	if (instruction->mnemonic == ZYDIS_MNEMONIC_LEA || instruction->mnemonic == ZYDIS_MNEMONIC_NOP || is_barrier(instruction))
		return false;
	switch (memory_base(instruction)) {
	case RSP: return walk->below_slot != NOT_KNOWN && displacement == walk->below_slot;
	case RBP: return walk->frame_below_slot != NOT_KNOWN && displacement == walk->frame_below_slot;
	default: return false;
	}
}

/* Whether the instruction may write the stack pointer, by its modrm. One that doesn't after all only ends the walk early. */
static bool may_move_stack(const ZydisDecodedInstruction *instruction)
{
	if (instruction->mnemonic == ZYDIS_MNEMONIC_LEAVE || instruction->mnemonic == ZYDIS_MNEMONIC_ENTER)
		return true;
	if (!(instruction->attributes & ZYDIS_ATTRIB_HAS_MODRM) || instruction->opcode_map != ZYDIS_OPCODE_MAP_DEFAULT)
		return false;
	return (instruction->raw.modrm.mod == 3 && instruction->raw.modrm.rm == RSP && !instruction->raw.rex.B) ||
	       (instruction->raw.modrm.reg == RSP && !instruction->raw.rex.R);
}

static bool sets_frame(const ZydisDecodedInstruction *instruction)
{
	unsigned reg = instruction->raw.modrm.reg, rm = instruction->raw.modrm.rm;

	return instruction->mnemonic == ZYDIS_MNEMONIC_MOV && instruction->raw.modrm.mod == 3 && instruction->raw.rex.W &&
	       !instruction->raw.rex.R && !instruction->raw.rex.B &&
	       ((instruction->opcode == 0x89 && reg == RSP && rm == RBP) || (instruction->opcode == 0x8b && reg == RBP && rm == RSP));
}

static void move_stack(struct ada_caller_walk *walk, const ZydisDecodedInstruction *instruction)
{
	const bool constant = (instruction->opcode == 0x81 || instruction->opcode == 0x83) && may_move_stack(instruction) &&
			      instruction->raw.modrm.mod == 3;

	if (constant && instruction->mnemonic == ZYDIS_MNEMONIC_CMP)
		return;
	if (constant && instruction->mnemonic == ZYDIS_MNEMONIC_SUB)
		walk->below_slot += instruction->raw.imm[0].value.s;
	else if (constant && instruction->mnemonic == ZYDIS_MNEMONIC_ADD)
		walk->below_slot -= instruction->raw.imm[0].value.s;
	else if (instruction->mnemonic == ZYDIS_MNEMONIC_LEA && memory_base(instruction) == RSP && may_move_stack(instruction))
		walk->below_slot -= instruction->raw.disp.value;
	else if (may_move_stack(instruction))
		walk->below_slot = NOT_KNOWN;
}

bool ada_caller_step(struct ada_caller_walk *walk, const ZydisDecodedInstruction *instruction)
{
	if (touches_slot(walk, instruction))
		return true;
	if (walk->below_slot == NOT_KNOWN)
		return false;
	switch (instruction->mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_PUSHFQ: walk->below_slot += instruction->operand_width / 8; return false;
	case ZYDIS_MNEMONIC_POP:
	case ZYDIS_MNEMONIC_POPFQ: walk->below_slot -= instruction->operand_width / 8; return walk->below_slot < 0;
	case ZYDIS_MNEMONIC_CALL:
		/* A call of the next instruction leaves its return address on the stack. */
		if (instruction->raw.imm[0].is_relative && !instruction->raw.imm[0].value.s)
			walk->below_slot += 8;
		return false;
	default: break;
	}
	if (sets_frame(instruction))
		walk->frame_below_slot = walk->below_slot;
	else if (ada_ends_flow(instruction))
		walk->below_slot = NOT_KNOWN;
	else
		move_stack(walk, instruction);
	return false;
}

static bool touches_at_once(const struct ada_planner *planner, const struct ada_function *function)
{
	struct ada_caller_walk walk;
	ZydisDecodedInstruction instruction;
	uint64_t at = function->address;

	ada_caller_start(&walk);
	for (uint32_t i = 0; i < UNSWEPT_MAX && ada_decode(planner, at, function->end, &instruction); i++) {
		if (ada_caller_step(&walk, &instruction))
			return true;
		if (ada_ends_flow(&instruction))
			return false;
		at += instruction.length;
	}
	return false;
}

void ada_callers_refuse(struct ada_planner *planner)
{
	for (size_t i = 0; i < planner->functions.count; i++) {
		struct ada_function *function = &planner->functions.items[i];

		if ((function->flags & ADA_FUNCTION_EXPORTED) && !function->refusal && touches_at_once(planner, function))
			function->refusal = ADA_REFUSAL_CALLER_LOOKUP;
	}
}
