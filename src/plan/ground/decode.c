/* Questions about code and single instructions that several rooms ask. */
#include "plan/ground/ground.h"

uint32_t ada_functions_before(const struct ada_planner *planner, uint64_t address)
{
	size_t until = ada_array_below(&planner->functions, address, address + 1);

	return until ? (uint32_t)until - 1 : ADA_PLAN_NONE;
}

uint64_t ada_piece_behind(const struct ada_planner *planner, uint64_t address)
{
	size_t next = ada_array_below(&planner->pieces, start, address + 1);

	return next < planner->pieces.count ? planner->pieces.items[next].start : UINT64_MAX;
}

size_t ada_targets_from(const struct ada_planner *planner, uint64_t address)
{
	return ada_array_below(&planner->targets, address, address);
}

const struct ada_code *ada_code_of(const struct ada_planner *planner, uint64_t address)
{
	for (size_t i = 0; i < planner->codes.count; i++)
		if (address >= planner->codes.items[i].start && address < planner->codes.items[i].end)
			return &planner->codes.items[i];
	return NULL;
}

const uint8_t *ada_code_at(const struct ada_planner *planner, uint64_t address, uint64_t *rest)
{
	const struct ada_code *code = ada_code_of(planner, address);

	*rest = code ? code->end - address : 0;
	return code ? code->data + (address - code->start) : NULL;
}

bool ada_code_holds(const struct ada_planner *planner, uint64_t address)
{
	return ada_code_of(planner, address) != NULL;
}

bool ada_decode(const struct ada_planner *planner, uint64_t address, uint64_t end, ZydisDecodedInstruction *instruction)
{
	uint64_t rest;
	const uint8_t *bytes = ada_code_at(planner, address, &rest);

	if (!bytes || address >= end)
		return false;
	if (rest > end - address)
		rest = end - address;
	return ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&planner->decoder, NULL, bytes, rest, instruction));
}

bool ada_branch_target(const ZydisDecodedInstruction *instruction, uint64_t address, uint64_t *target)
{
	if (!instruction->raw.imm[0].is_relative)
		return false;
	*target = address + instruction->length + (uint64_t)instruction->raw.imm[0].value.s;
	return true;
}

bool ada_is_rip_relative(const ZydisDecodedInstruction *instruction)
{
	return instruction->attributes & ZYDIS_ATTRIB_HAS_MODRM && instruction->raw.modrm.mod == 0 && instruction->raw.modrm.rm == 5;
}

bool ada_is_call(const ZydisDecodedInstruction *instruction)
{
	return instruction->meta.category == ZYDIS_CATEGORY_CALL;
}

bool ada_ends_flow(const ZydisDecodedInstruction *instruction)
{
	switch (instruction->mnemonic) {
	case ZYDIS_MNEMONIC_RET:
	case ZYDIS_MNEMONIC_JMP:
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_HLT: return true;
	default: return false;
	}
}

bool ada_is_endbr(const ZydisDecodedInstruction *instruction)
{
	return instruction->opcode_map == ZYDIS_OPCODE_MAP_0F && instruction->opcode == 0x1e && instruction->raw.modrm.mod == 3 &&
	       instruction->raw.modrm.reg == 7 && instruction->raw.modrm.rm == 2;
}

bool ada_is_padding(const ZydisDecodedInstruction *instruction)
{
	return (instruction->mnemonic == ZYDIS_MNEMONIC_NOP && !ada_is_endbr(instruction)) || instruction->mnemonic == ZYDIS_MNEMONIC_INT3;
}
