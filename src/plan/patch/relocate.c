/* The copy of a function's first instructions that runs elsewhere. The copy changes no register and no flag beyond what
 * the original changes: any register or flag may be live at an entry.
 *
 *   branch rel8, rel32       the same branch with rel32
 *   loop, jrcxz rel8         over a jmp rel32:  loop +2; jmp +5; jmp rel32
 *   call rel32               push the original return address; jmp rel32: no return address lies in the copy
 *   call *place              the same, then jmp *place
 *   [rip + disp]             another disp
 *
 * Each instruction of the copy is known by its origin (abi/plan.h): an unwinder that comes upon the copy goes on in the original.
 */
#include "plan/patch/window.h"

struct copy {
	const struct ada_planner *planner;
	uint64_t from, to, inside_from;
	uint64_t at; /* of the original that is being copied */
	struct ada_body *body;
	struct {
		uint64_t address;
		uint16_t offset;
	} places[ADA_BODY_MAX]; /* each instruction's in the copy */
	uint16_t place_count;
	struct {
		uint64_t target;
		uint16_t offset;
	} inner[64]; /* branches that stay inside */
	uint16_t inner_count;
	bool full;
};

static void copy_put(struct copy *copy, const void *bytes, size_t count)
{
	if (copy->body->length + count > ADA_BODY_MAX) {
		copy->full = true;
		return;
	}
	memcpy(copy->body->bytes + copy->body->length, bytes, count);
	copy->body->length = (uint16_t)(copy->body->length + count);
}

/* The next instruction of the copy is (part of) the original at copy->at. */
static void put_origin(struct copy *copy, uint8_t pushed)
{
	struct ada_body *body = copy->body;
	const struct ada_plan_origin *last = body->origin_count ? &body->origins[body->origin_count - 1] : NULL;
	struct ada_plan_origin origin = { (uint8_t)body->length, (uint8_t)(copy->at - copy->from), pushed, 0 };

	if (last && last->pushed == pushed && origin.original - last->original == origin.body - last->body)
		return; /* the last origin says the same */
	if (body->origin_count == sizeof body->origins / sizeof *body->origins)
		copy->full = true;
	else if (!copy->full)
		body->origins[body->origin_count++] = origin;
}

static void put_byte(struct copy *copy, uint8_t byte)
{
	copy_put(copy, &byte, 1);
}

static void put_reloc(struct copy *copy, enum ada_reloc_kind kind, uint64_t target, int32_t addend, size_t offset)
{
	struct ada_body *body = copy->body;

	if (body->reloc_count == sizeof body->relocs / sizeof *body->relocs) {
		copy->full = true;
		return;
	}
	body->relocs[body->reloc_count++] = (struct ada_plan_reloc){
		.target = target,
		.addend = addend,
		.offset = (uint16_t)offset,
		.kind = (uint16_t)kind,
	};
}

static void put_rel32(struct copy *copy, uint64_t target)
{
	static const uint8_t zeros[4];

	if (target >= copy->inside_from && target < copy->to) {
		if (copy->inner_count == sizeof copy->inner / sizeof *copy->inner) {
			copy->full = true;
			return;
		}
		copy->inner[copy->inner_count].target = target;
		copy->inner[copy->inner_count++].offset = copy->body->length;
	} else {
		put_reloc(copy, ADA_RELOC_REL32, target, -4, copy->body->length);
	}
	copy_put(copy, zeros, 4);
}

static void put_jump(struct copy *copy, uint64_t target)
{
	put_byte(copy, 0xe9);
	put_rel32(copy, target);
}

/* push imm32 sign-extends; a mov overwrites the high half. Neither touches a flag. */
static void put_push_return(struct copy *copy, uint64_t address)
{
	static const uint8_t push[] = { 0x68, 0, 0, 0, 0 }, move[] = { 0xc7, 0x44, 0x24, 0x04, 0, 0, 0, 0 };

	put_reloc(copy, ADA_RELOC_LOW32, address, 0, copy->body->length + 1u);
	copy_put(copy, push, sizeof push);
	put_origin(copy, 8);
	put_reloc(copy, ADA_RELOC_HIGH32, address, 0, copy->body->length + 4u);
	copy_put(copy, move, sizeof move);
	put_origin(copy, 8);
}

static bool copy_branch(struct copy *copy, const ZydisDecodedInstruction *instruction, uint64_t at)
{
	uint64_t target;
	uint8_t opcode = instruction->opcode;

	ada_branch_target(instruction, at, &target);
	if (instruction->attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE)
		return false; /* CPUs disagree about what the prefix means */
	if (instruction->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && opcode == 0xe8) {
		put_push_return(copy, at + instruction->length);
		put_jump(copy, target);
	} else if (instruction->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && (opcode == 0xe9 || opcode == 0xeb)) {
		put_jump(copy, target);
	} else if ((instruction->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && (opcode & 0xf0) == 0x70) ||
		   (instruction->opcode_map == ZYDIS_OPCODE_MAP_0F && (opcode & 0xf0) == 0x80)) {
		put_byte(copy, 0x0f);
		put_byte(copy, 0x80 | (opcode & 0x0f));
		put_rel32(copy, target);
	} else if (instruction->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && opcode >= 0xe0 && opcode <= 0xe3) {
		if (instruction->attributes & ZYDIS_ATTRIB_HAS_ADDRESSSIZE)
			put_byte(copy, 0x67);
		put_byte(copy, opcode);
		put_byte(copy, 0x02);
		put_origin(copy, 0);
		put_byte(copy, 0xeb);
		put_byte(copy, 0x05);
		put_origin(copy, 0);
		put_jump(copy, target);
	} else {
		return false; /* xbegin */
	}
	return true;
}

/* call *place becomes a push and jmp *place; a place relative to rsp moves by the push. */
static bool copy_indirect_call(struct copy *copy, const ZydisDecodedInstruction *instruction, const uint8_t *bytes, uint64_t at)
{
	const ZydisDecodedInstructionRaw *raw = &instruction->raw;
	bool by_rsp = raw->modrm.rm == 4 && !raw->rex.B && (raw->modrm.mod == 3 || raw->sib.base == 4);
	size_t start;

	if (instruction->opcode != 0xff || raw->modrm.reg != 2 || instruction->attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE ||
	    (by_rsp && raw->modrm.mod == 3))
		return false;
	put_push_return(copy, at + instruction->length);
	start = copy->body->length;
	if (by_rsp) {
		int32_t displacement = (int32_t)raw->disp.value + 8;

		copy_put(copy, bytes, raw->modrm.offset);
		put_byte(copy, 2 << 6 | 4 << 3 | 4);
		put_byte(copy, bytes[raw->sib.offset]);
		copy_put(copy, &displacement, sizeof displacement);
		return true;
	}
	copy_put(copy, bytes, instruction->length);
	if (copy->full)
		return true;
	copy->body->bytes[start + raw->modrm.offset] = (uint8_t)(raw->modrm.mod << 6 | 4 << 3 | raw->modrm.rm);
	if (ada_is_rip_relative(instruction))
		put_reloc(copy, ADA_RELOC_REL32, at + instruction->length + (uint64_t)raw->disp.value,
			  -(instruction->length - raw->disp.offset), start + raw->disp.offset);
	return true;
}

static bool copy_instruction(struct copy *copy, const ZydisDecodedInstruction *instruction, const uint8_t *bytes, uint64_t at)
{
	const ZydisDecodedInstructionRaw *raw = &instruction->raw;

	if (raw->imm[0].is_relative)
		return copy_branch(copy, instruction, at);
	if (ada_is_rip_relative(instruction) && instruction->attributes & ZYDIS_ATTRIB_HAS_ADDRESSSIZE)
		return false; /* eip-relative */
	if (ada_is_call(instruction))
		return copy_indirect_call(copy, instruction, bytes, at);
	if (ada_is_rip_relative(instruction))
		put_reloc(copy, ADA_RELOC_REL32, at + instruction->length + (uint64_t)raw->disp.value,
			  -(instruction->length - raw->disp.offset), copy->body->length + raw->disp.offset);
	copy_put(copy, bytes, instruction->length);
	return true;
}

/* Branches inside the copy know their distance now. */
static bool close_inner(struct copy *copy)
{
	for (unsigned i = 0; i < copy->inner_count; i++) {
		unsigned place = 0, field = copy->inner[i].offset;
		int32_t distance;

		while (place < copy->place_count && copy->places[place].address != copy->inner[i].target)
			place++;
		if (place == copy->place_count)
			return false; /* into the middle of an instruction */
		distance = copy->places[place].offset - (int32_t)(field + 4);
		memcpy(copy->body->bytes + field, &distance, sizeof distance);
	}
	return true;
}

enum ada_refusal ada_relocate(const struct ada_planner *planner, uint64_t from, uint64_t to, uint64_t inside_from, struct ada_body *body)
{
	struct copy copy = { .planner = planner, .from = from, .to = to, .inside_from = inside_from, .body = body };
	ZydisDecodedInstruction instruction;
	bool flow_ends = false;
	uint64_t rest;

	body->length = body->reloc_count = body->origin_count = 0;
	for (uint64_t at = from; at < to; at += instruction.length) {
		const uint8_t *bytes = ada_code_at(planner, at, &rest);

		if (!bytes || !ada_decode(planner, at, to, &instruction) || copy.place_count == ADA_BODY_MAX)
			return ADA_REFUSAL_UNDECODABLE;
		copy.places[copy.place_count].address = at;
		copy.places[copy.place_count++].offset = body->length;
		copy.at = at;
		put_origin(&copy, 0);
		if (!copy_instruction(&copy, &instruction, bytes, at))
			return ADA_REFUSAL_UNDECODABLE;
		flow_ends = ada_ends_flow(&instruction) || ada_is_call(&instruction);
	}
	if (!flow_ends) {
		copy.inside_from = copy.to = 0;
		copy.at = to;
		put_origin(&copy, 0);
		put_jump(&copy, to);
	}
	return copy.full || !close_inner(&copy) ? ADA_REFUSAL_UNDECODABLE : ADA_REFUSAL_NONE;
}
