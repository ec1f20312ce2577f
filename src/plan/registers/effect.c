/* See effect.h. What a kind of instruction does with its operands is the same wherever it occurs; which registers these are, the bytes of
 * modrm, sib and prefixes say. So the first instruction of a kind is decoded with operands (kind.c), and what Zydis says of them is kept;
 * decoding all operands everywhere would take several times as long.
 */
#include "plan/registers/kind.h"

#define KINDS 4096u /* places in the hash table: all x86 code of Debian uses fewer than 1,500 */
#define KINDS_FULL (KINDS / 4 * 3)

struct ada_effects {
	struct ada_kind kinds[KINDS];
	unsigned count;
};

static uint64_t key_of(const ZydisDecodedInstruction *instruction)
{
	bool vex = instruction->encoding == ZYDIS_INSTRUCTION_ENCODING_VEX, wide = vex ? instruction->raw.vex.W : instruction->raw.rex.W;
	unsigned prefixes = vex ? instruction->raw.vex.pp : 0;

	for (unsigned i = 0; i < instruction->raw.prefix_count; i++) {
		switch (instruction->raw.prefixes[i].value) {
		case 0x66: prefixes |= 4; break;
		case 0x67: prefixes |= 8; break;
		case 0xf2: prefixes |= 16; break;
		case 0xf3: prefixes |= 32; break;
		}
	}
	return (uint64_t)instruction->mnemonic | (uint64_t)instruction->opcode_map << 16 | (uint64_t)instruction->opcode << 20 |
	       (uint64_t)(instruction->raw.modrm.mod == 3) << 28 | (uint64_t)wide << 29 | (uint64_t)vex << 30 | (uint64_t)prefixes << 32 |
	       1ull << 63;
}

struct numbers { /* of registers, as prefixes and modrm say them */
	unsigned reg, rm, third, opcode, base, index;
	bool has_rex;
};

static struct numbers numbers_of(const ZydisDecodedInstruction *instruction)
{
	bool vex = instruction->encoding == ZYDIS_INSTRUCTION_ENCODING_VEX;
	unsigned r, x, b;

	r = vex ? !instruction->raw.vex.R : instruction->raw.rex.R;
	x = vex ? !instruction->raw.vex.X : instruction->raw.rex.X;
	b = vex ? !instruction->raw.vex.B : instruction->raw.rex.B;
	return (struct numbers){
		.reg = instruction->raw.modrm.reg | r << 3,
		.rm = instruction->raw.modrm.rm | b << 3,
		.third = vex ? ~instruction->raw.vex.vvvv & 15u : 0,
		.opcode = (instruction->opcode & 7u) | b << 3,
		.base = instruction->raw.sib.base | b << 3,
		.index = instruction->raw.sib.index | x << 3,
		.has_rex = vex || instruction->attributes & ZYDIS_ATTRIB_HAS_REX,
	};
}

static ada_parts address_reads(const ZydisDecodedInstruction *instruction, const struct numbers *numbers)
{
	unsigned mod = instruction->raw.modrm.mod, rm = instruction->raw.modrm.rm;
	ada_parts reads = 0;

	if (rm != ADA_ENCODED_RSP)
		return rm == ADA_ENCODED_RBP && !mod ? 0 : ada_general[numbers->rm];
	if (instruction->raw.sib.base != ADA_ENCODED_RBP || mod)
		reads = ada_general[numbers->base];
	return numbers->index == ADA_ENCODED_RSP ? reads : reads | ada_general[numbers->index];
}

static void apply(struct ada_effect *effect, const struct ada_operand_effect *operand, unsigned number, bool has_rex)
{
	if (operand->width == ADA_WIDTH_VECTOR) {
		effect->reads |= operand->reads ? ada_vector(number) : 0;
		effect->writes |= operand->writes ? ada_vector(number) : 0;
	} else if (operand->width == ADA_WIDTH_LOW && !has_rex && number >= 4) { /* ah ch dh bh */
		effect->reads |= operand->reads ? ada_general[number - 4] : 0;
	} else if (operand->width != ADA_WIDTH_NONE) {
		effect->reads |= operand->reads ? ada_general_read(operand->width, number) : 0;
		effect->writes |= operand->writes ? ada_general_written(operand->width, number) : 0;
	}
}

/* A shift by nothing leaves the flags as they were; by cl it may be that. */
static bool shifts_for_sure(const ZydisDecodedInstruction *instruction)
{
	bool by_one = instruction->opcode == 0xd0 || instruction->opcode == 0xd1;
	unsigned mask = instruction->raw.rex.W ? 63 : 31;

	return by_one || (instruction->raw.imm[0].size == 8 && instruction->raw.imm[0].value.u & mask);
}

/* What may put back a value of before: loads, moves, exchanges, and sums with a constant, which another sum takes back. */
static bool may_restore(const ZydisDecodedInstruction *instruction)
{
	switch (instruction->mnemonic) {
	case ZYDIS_MNEMONIC_POP:
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_MOVQ:
	case ZYDIS_MNEMONIC_XCHG:
	case ZYDIS_MNEMONIC_LEA:
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_DEC: return true;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB: return instruction->raw.imm[0].size != 0;
	default: return false;
	}
}

static bool puts_flags_back(ZydisMnemonic mnemonic)
{
	return mnemonic == ZYDIS_MNEMONIC_POPF || mnemonic == ZYDIS_MNEMONIC_POPFD || mnemonic == ZYDIS_MNEMONIC_POPFQ ||
	       mnemonic == ZYDIS_MNEMONIC_SAHF;
}

static ada_parts restored(const ZydisDecodedInstruction *instruction, const struct numbers *numbers, const struct ada_effect *effect)
{
	unsigned rm = instruction->raw.modrm.rm;
	bool of_stack = rm == ADA_ENCODED_RSP ? numbers->base == ADA_ENCODED_RSP : numbers->rm == ADA_ENCODED_RBP;

	if (puts_flags_back(instruction->mnemonic))
		return effect->writes & ADA_PARTS_FLAGS;
	if (!may_restore(instruction))
		return 0;
	if (instruction->mnemonic == ZYDIS_MNEMONIC_MOV && instruction->raw.imm[0].size)
		return 0;
	/* The upper half of what was there is lost: that nobody takes for the same, but for what lies on the stack. */
	if (instruction->mnemonic == ZYDIS_MNEMONIC_MOV && !instruction->raw.rex.W && (instruction->raw.modrm.mod == 3 || !of_stack))
		return 0;
	if (instruction->mnemonic == ZYDIS_MNEMONIC_LEA && !(effect->reads & effect->writes))
		return 0;
	return effect->writes & ~(ADA_PARTS_FLAGS | ADA_PARTS_VECTORS);
}

/* A move of a register to itself, which old assemblers and patchers use as a NOP. */
static bool is_idle(const ZydisDecodedInstruction *instruction, const struct numbers *numbers)
{
	bool same = numbers->reg == numbers->rm && instruction->raw.modrm.mod == 3;

	if (!instruction->raw.rex.W)
		return false;
	if (instruction->mnemonic == ZYDIS_MNEMONIC_LEA)
		return !instruction->raw.disp.value &&
		       numbers->reg == (instruction->raw.modrm.rm == ADA_ENCODED_RSP ? numbers->base : numbers->rm);
	return same && (instruction->mnemonic == ZYDIS_MNEMONIC_MOV || instruction->mnemonic == ZYDIS_MNEMONIC_XCHG);
}

static bool is_constant(const struct ada_kind *kind, const ZydisDecodedInstruction *instruction, const struct numbers *numbers)
{
	const struct ada_operand_effect *operands = kind->operands;

	if (!kind->zeroes || instruction->raw.modrm.mod != 3)
		return false;
	if (instruction->mnemonic == ZYDIS_MNEMONIC_OR)
		return instruction->raw.imm[0].size && instruction->raw.imm[0].value.s == -1;
	if (instruction->mnemonic == ZYDIS_MNEMONIC_AND)
		return instruction->raw.imm[0].size && !instruction->raw.imm[0].value.s;
	if (!operands[ADA_PLACE_REG].width || !operands[ADA_PLACE_RM].width)
		return false;
	return numbers->rm == (instruction->encoding == ZYDIS_INSTRUCTION_ENCODING_VEX ? numbers->third : numbers->reg);
}

static struct ada_effect apply_kind(const struct ada_kind *kind, const ZydisDecodedInstruction *instruction)
{
	struct ada_effect effect = { .reads = kind->reads, .writes = kind->writes };
	const struct ada_operand_effect *operands = kind->operands;
	const struct numbers numbers = numbers_of(instruction);
	bool has_modrm = instruction->attributes & ZYDIS_ATTRIB_HAS_MODRM, memory = kind->addresses && instruction->raw.modrm.mod != 3;

	if (has_modrm) {
		ada_parts before = effect.reads;

		apply(&effect, &operands[ADA_PLACE_REG], numbers.reg, numbers.has_rex);
		apply(&effect, &operands[ADA_PLACE_THIRD], numbers.third, true);
		if (!memory)
			apply(&effect, &operands[ADA_PLACE_RM], numbers.rm, numbers.has_rex);
		else
			effect.reads |= address_reads(instruction, &numbers);
		if (is_constant(kind, instruction, &numbers))
			effect.reads = before;
	}
	apply(&effect, &operands[ADA_PLACE_OPCODE], numbers.opcode, numbers.has_rex);
	if (kind->counts && !shifts_for_sure(instruction))
		effect.writes &= ~ADA_PARTS_FLAGS;
	if (is_idle(instruction, &numbers))
		effect.writes = 0;
	effect.restores = restored(instruction, &numbers, &effect);
	return effect;
}

struct ada_effect ada_effect_of(struct ada_effects *effects, const ZydisDecoder *decoder, const ZydisDecodedInstruction *instruction,
				const uint8_t *bytes)
{
	struct ada_kind alone = { 0 };
	uint64_t key = key_of(instruction);
	bool plain = instruction->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY || instruction->encoding == ZYDIS_INSTRUCTION_ENCODING_VEX;

	for (uint64_t i = key * 0x9E3779B97F4A7C15ull >> 52; plain; i = (i + 1) % KINDS) {
		struct ada_kind *kind = &effects->kinds[i];

		if (kind->key == key)
			return apply_kind(kind, instruction);
		if (kind->key)
			continue;
		if (effects->count >= KINDS_FULL)
			break;
		effects->count++;
		kind->key = key;
		ada_kind_describe(kind, decoder, bytes, instruction->length, false);
		return apply_kind(kind, instruction);
	}
	ada_kind_describe(&alone, decoder, bytes, instruction->length, true);
	return (struct ada_effect){ .reads = alone.reads, .writes = alone.writes, .restores = 0 };
}

struct ada_effects *ada_effects_new(void)
{
	return calloc(1, sizeof(struct ada_effects));
}

void ada_effects_free(struct ada_effects *effects)
{
	free(effects);
}
