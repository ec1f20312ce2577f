/* Whether the address that crashed came from a word of static data, and so from no argument: in the innermost call's code the register that
 * the instruction accesses memory by was last written by a load from a fixed address, with no jump to anywhere in between. */
#include "base/array.h"
#include "query/crash/internal.h"
#include "query/session/source.h"

#define CODE_MAX 65536 /* bytes of a function that are read */

struct code {
	const struct ada_crash_cause *cause;
	uint64_t start, bytes;
	ADA_ARRAY(uint64_t) targets; /* of its jumps within itself */
	bool unknown;		     /* where a jump goes, or what an instruction is */
};

static bool is_jump(const struct ada_crash_instruction *of)
{
	return of->instruction.meta.category == ZYDIS_CATEGORY_COND_BR || of->instruction.meta.category == ZYDIS_CATEGORY_UNCOND_BR;
}

static void find_targets(struct code *code)
{
	struct ada_crash_instruction of;

	for (uint64_t at = code->start; at < code->start + code->bytes && !code->unknown; at += of.instruction.length) {
		uint64_t to;

		if (!ada_crash_decode(code->cause, at, &of)) {
			code->unknown = true;
			return;
		}
		if (!is_jump(&of))
			continue;
		code->unknown = of.operands[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE ||
				!ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&of.instruction, &of.operands[0], at, &to)) ||
				ada_array_push(&code->targets, to);
	}
}

static bool is_target(const struct code *code, uint64_t at)
{
	for (size_t i = 0; i < code->targets.count; i++)
		if (code->targets.items[i] == at)
			return true;
	return false;
}

static ZydisRegister whole(ZydisRegister name)
{
	return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name);
}

static bool writes(const struct ada_crash_instruction *of, ZydisRegister name)
{
	for (unsigned i = 0; i < of->instruction.operand_count; i++)
		if (of->operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER && of->operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
		    whole(of->operands[i].reg.value) == name)
			return true;
	return of->instruction.mnemonic == ZYDIS_MNEMONIC_CALL;
}

static bool loads_static(const struct ada_crash_instruction *of, ZydisRegister name)
{
	const ZydisDecodedOperand *to = &of->operands[0], *from = &of->operands[1];

	return of->instruction.mnemonic == ZYDIS_MNEMONIC_MOV && to->type == ZYDIS_OPERAND_TYPE_REGISTER && to->reg.value == name &&
	       from->type == ZYDIS_OPERAND_TYPE_MEMORY && from->mem.index == ZYDIS_REGISTER_NONE &&
	       from->mem.segment == ZYDIS_REGISTER_DS && (from->mem.base == ZYDIS_REGISTER_RIP || from->mem.base == ZYDIS_REGISTER_NONE);
}

/* Whether it is so of the register at the instruction at `end`. */
static bool is_static(const struct code *code, ZydisRegister name, uint64_t end)
{
	struct ada_crash_instruction of;
	bool found = false;

	for (uint64_t at = code->start; at < end; at += of.instruction.length) {
		if (!ada_crash_decode(code->cause, at, &of))
			return false;
		if (is_target(code, at) || of.instruction.meta.category == ZYDIS_CATEGORY_UNCOND_BR)
			found = false;
		if (writes(&of, name))
			found = loads_static(&of, name);
	}
	return found && !is_target(code, end);
}

bool ada_crash_is_of_global(const struct ada_crash_cause *cause)
{
	const struct ada_stack *path = &cause->path;
	uint64_t rip = ada_crash_number(cause, "rip");
	struct code code = { .cause = cause };
	struct ada_crash_instruction of;
	bool of_global = false;

	if (!path->frames.count || !ada_crash_decode(cause, rip, &of) ||
	    !ada_process_code(cause->process, path->frames.items[path->frames.count - 1].function_id, rip, &code.start, &code.bytes) ||
	    code.bytes > CODE_MAX)
		return false;
	find_targets(&code);
	for (unsigned i = 0; i < of.instruction.operand_count && !code.unknown && !of_global; i++)
		if (of.operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY && of.operands[i].mem.base != ZYDIS_REGISTER_NONE &&
		    of.operands[i].mem.base != ZYDIS_REGISTER_RSP)
			of_global = is_static(&code, of.operands[i].mem.base, rip);
	ada_array_free(&code.targets);
	return of_global;
}
