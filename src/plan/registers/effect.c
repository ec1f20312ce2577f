/* See effect.h. What a kind of instruction does with its operands is the same wherever it occurs; which registers these are, the bytes of
 * modrm, sib and prefixes say. So the first instruction of a kind is decoded with operands, and what Zydis says of them is kept; decoding
 * all operands everywhere would take several times as long.
 *
 * Where in doubt an instruction reads, and doesn't write. A write that is conditional, or leaves a part as it was, is none.
 */
#include "plan/registers/effect.h"

#define KINDS 4096u /* places in the hash table: all x86 code of Debian uses fewer than 1,500 */
#define KINDS_FULL (KINDS / 4 * 3)

enum width { WIDTH_NONE, WIDTH_LOW, WIDTH_WORD, WIDTH_WHOLE, WIDTH_VECTOR };
enum place { PLACE_REG, PLACE_RM, PLACE_OPCODE, PLACE_THIRD, PLACE_COUNT };

struct operand {
	uint8_t width; /* enum width */
	bool reads, writes;
};

struct kind {
	uint64_t key;		 /* 0: none */
	ada_parts reads, writes; /* whatever the operands are */
	struct operand operands[PLACE_COUNT];
	bool addresses; /* its modrm may name memory, whose base and index are read */
	bool counts;	/* a shift: by nothing it leaves the flags */
	bool zeroes;	/* of two operands that are the same, or with some constant, it makes always the same */
};

struct ada_effects {
	struct kind kinds[KINDS];
	unsigned count;
};

/* Numbers of general registers as encoded: rax rcx rdx rbx rsp rbp rsi rdi r8 ... r15. */
static const ada_parts general[16] = {
	ADA_PARTS_OF(ADA_REGISTER_RAX),
	ADA_PARTS_OF(ADA_REGISTER_RCX),
	ADA_PARTS_OF(ADA_REGISTER_RDX),
	0,
	0,
	0,
	ADA_PARTS_OF(ADA_REGISTER_RSI),
	ADA_PARTS_OF(ADA_REGISTER_RDI),
	ADA_PARTS_OF(ADA_REGISTER_R8),
	ADA_PARTS_OF(ADA_REGISTER_R9),
	ADA_PARTS_OF(ADA_REGISTER_R10),
	ADA_PARTS_OF(ADA_REGISTER_R11),
};
#define LOW_BYTES ((1u << ADA_PARTS_GENERAL) - 1)
enum { RSP = 4, RBP = 5 };

static ada_parts general_read(unsigned width, unsigned number)
{
	return width == WIDTH_LOW ? general[number] & LOW_BYTES : general[number];
}

static ada_parts general_written(unsigned width, unsigned number)
{
	return width == WIDTH_WHOLE ? general[number] : general[number] & LOW_BYTES;
}

static ada_parts vector(unsigned number)
{
	return number < 8 ? 1u << (24 + number) : 0;
}

/* --- a kind, from Zydis */

static unsigned width_of(ZydisRegister name)
{
	switch (ZydisRegisterGetClass(name)) {
	case ZYDIS_REGCLASS_GPR8: return WIDTH_LOW;
	case ZYDIS_REGCLASS_GPR16: return WIDTH_WORD;
	case ZYDIS_REGCLASS_GPR32:
	case ZYDIS_REGCLASS_GPR64: return WIDTH_WHOLE;
	case ZYDIS_REGCLASS_XMM:
	case ZYDIS_REGCLASS_YMM:
	case ZYDIS_REGCLASS_ZMM: return WIDTH_VECTOR;
	default: return WIDTH_NONE;
	}
}

/* Scalar operations leave the rest of their target as it was, whatever Zydis says; some bit scans leave all of it where there is no bit. */
static bool writes_in_part(ZydisMnemonic mnemonic)
{
	switch (mnemonic) {
	case ZYDIS_MNEMONIC_BSF:
	case ZYDIS_MNEMONIC_BSR:
	case ZYDIS_MNEMONIC_TZCNT: /* decoded as bsf by older CPUs, as is lzcnt as bsr */
	case ZYDIS_MNEMONIC_LZCNT:
	case ZYDIS_MNEMONIC_CVTSI2SD:
	case ZYDIS_MNEMONIC_CVTSI2SS:
	case ZYDIS_MNEMONIC_CVTSD2SS:
	case ZYDIS_MNEMONIC_CVTSS2SD:
	case ZYDIS_MNEMONIC_SQRTSD:
	case ZYDIS_MNEMONIC_SQRTSS:
	case ZYDIS_MNEMONIC_RCPSS:
	case ZYDIS_MNEMONIC_RSQRTSS:
	case ZYDIS_MNEMONIC_ROUNDSD:
	case ZYDIS_MNEMONIC_ROUNDSS:
	case ZYDIS_MNEMONIC_MOVSS:
	case ZYDIS_MNEMONIC_MOVLPS:
	case ZYDIS_MNEMONIC_MOVLPD:
	case ZYDIS_MNEMONIC_MOVHPS:
	case ZYDIS_MNEMONIC_MOVHPD:
	case ZYDIS_MNEMONIC_MOVHLPS:
	case ZYDIS_MNEMONIC_MOVLHPS:
	case ZYDIS_MNEMONIC_PINSRB:
	case ZYDIS_MNEMONIC_PINSRW:
	case ZYDIS_MNEMONIC_PINSRD:
	case ZYDIS_MNEMONIC_PINSRQ:
	case ZYDIS_MNEMONIC_INSERTPS: return true;
	default: return false;
	}
}

static bool makes_constant(ZydisMnemonic mnemonic)
{
	switch (mnemonic) {
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_AND:
	case ZYDIS_MNEMONIC_OR:
	case ZYDIS_MNEMONIC_PXOR:
	case ZYDIS_MNEMONIC_XORPS:
	case ZYDIS_MNEMONIC_XORPD:
	case ZYDIS_MNEMONIC_VPXOR:
	case ZYDIS_MNEMONIC_VXORPS:
	case ZYDIS_MNEMONIC_VXORPD: return true;
	default: return false;
	}
}

static bool is_shift(ZydisMnemonic mnemonic)
{
	switch (mnemonic) {
	case ZYDIS_MNEMONIC_SHL:
	case ZYDIS_MNEMONIC_SHR:
	case ZYDIS_MNEMONIC_SAR:
	case ZYDIS_MNEMONIC_ROL:
	case ZYDIS_MNEMONIC_ROR:
	case ZYDIS_MNEMONIC_RCL:
	case ZYDIS_MNEMONIC_RCR:
	case ZYDIS_MNEMONIC_SHLD:
	case ZYDIS_MNEMONIC_SHRD: return true;
	default: return false;
	}
}

static ada_parts flags_of(ZydisAccessedFlagsMask mask)
{
	static const ZydisAccessedFlagsMask flags[] = { ZYDIS_CPUFLAG_CF, ZYDIS_CPUFLAG_PF, ZYDIS_CPUFLAG_AF,
							ZYDIS_CPUFLAG_ZF, ZYDIS_CPUFLAG_SF, ZYDIS_CPUFLAG_OF };
	ada_parts parts = 0;

	for (unsigned i = 0; i < sizeof flags / sizeof *flags; i++)
		if (mask & flags[i])
			parts |= 1u << (18 + i);
	return parts;
}

static void describe_flags(struct kind *kind, const ZydisDecodedInstruction *instruction)
{
	const ZydisAccessedFlags *flags = instruction->cpu_flags;
	bool repeats = instruction->attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE);

	kind->counts = is_shift(instruction->mnemonic);
	if (!flags)
		return;
	kind->reads |= flags_of(flags->tested);
	/* Of the undefined flags only AF counts as written: CPUs leave some of the others alone, and AF nobody looks at. */
	if (!repeats)
		kind->writes |= flags_of(flags->modified | flags->set_0 | flags->set_1 | (flags->undefined & ZYDIS_CPUFLAG_AF));
}

static void describe_fixed(struct kind *kind, const ZydisDecodedOperand *operand, bool writes)
{
	ZydisRegister name = operand->reg.value;
	unsigned width = width_of(name), number = (unsigned)ZydisRegisterGetId(name);
	bool reads = operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ;

	if (name >= ZYDIS_REGISTER_AH && name <= ZYDIS_REGISTER_BH) {
		if (reads)
			kind->reads |= general[name - ZYDIS_REGISTER_AH];
	} else if (width == WIDTH_VECTOR) {
		kind->reads |= reads ? vector(number) : 0;
		kind->writes |= writes ? vector(number) : 0;
	} else if (width != WIDTH_NONE) {
		if (width == WIDTH_LOW && name >= ZYDIS_REGISTER_SPL)
			number = (unsigned)(name - ZYDIS_REGISTER_SPL) + 4;
		else if (width == WIDTH_LOW)
			number = (unsigned)(name - ZYDIS_REGISTER_AL);
		kind->reads |= reads ? general_read(width, number) : 0;
		kind->writes |= writes ? general_written(width, number) : 0;
	}
}

static int place_of(const ZydisDecodedOperand *operand)
{
	switch (operand->encoding) {
	case ZYDIS_OPERAND_ENCODING_MODRM_REG: return PLACE_REG;
	case ZYDIS_OPERAND_ENCODING_MODRM_RM: return PLACE_RM;
	case ZYDIS_OPERAND_ENCODING_OPCODE: return PLACE_OPCODE;
	case ZYDIS_OPERAND_ENCODING_NDSNDD: return PLACE_THIRD;
	default: return -1;
	}
}

static void describe_operand(struct kind *kind, const ZydisDecodedInstruction *instruction, const ZydisDecodedOperand *operand, bool fixed)
{
	bool writes = operand->actions & ZYDIS_OPERAND_ACTION_WRITE && !writes_in_part(instruction->mnemonic);
	int place = fixed ? -1 : place_of(operand);

	if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY) {
		if (operand->mem.type == ZYDIS_MEMOP_TYPE_VSIB)
			kind->reads |= ADA_PARTS_VECTORS;
		if (place == PLACE_RM) {
			kind->addresses = true;
			return;
		}
		if (width_of(operand->mem.base) == WIDTH_WHOLE)
			kind->reads |= general[ZydisRegisterGetId(operand->mem.base)];
		if (width_of(operand->mem.index) == WIDTH_WHOLE)
			kind->reads |= general[ZydisRegisterGetId(operand->mem.index)];
		return;
	}
	if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER)
		return;
	if (place < 0)
		return describe_fixed(kind, operand, writes);
	kind->operands[place].width = (uint8_t)width_of(operand->reg.value);
	kind->operands[place].reads |= (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
	kind->operands[place].writes |= writes;
}

/* What Zydis doesn't say, or says otherwise than this page counts. True: that is all. */
static bool describe_special(struct kind *kind, const ZydisDecodedInstruction *instruction)
{
	switch (instruction->mnemonic) {
	case ZYDIS_MNEMONIC_NOP:
	case ZYDIS_MNEMONIC_ENDBR32:
	case ZYDIS_MNEMONIC_ENDBR64: return true;
	case ZYDIS_MNEMONIC_POPF:
	case ZYDIS_MNEMONIC_POPFD:
	case ZYDIS_MNEMONIC_POPFQ: kind->writes = ADA_PARTS_FLAGS; return true;
	case ZYDIS_MNEMONIC_PUSHF:
	case ZYDIS_MNEMONIC_PUSHFD:
	case ZYDIS_MNEMONIC_PUSHFQ: kind->reads = ADA_PARTS_FLAGS; return true;
	case ZYDIS_MNEMONIC_SYSCALL: /* the kernel looks at arguments, a tracer at all */
		kind->reads = ADA_PARTS_ALL & ~(ADA_PARTS_FLAGS | ADA_PARTS_OF(ADA_REGISTER_RCX) | ADA_PARTS_OF(ADA_REGISTER_R11));
		kind->writes = ADA_PARTS_OF(ADA_REGISTER_RCX) | ADA_PARTS_OF(ADA_REGISTER_R11);
		return true;
	case ZYDIS_MNEMONIC_INT:
	case ZYDIS_MNEMONIC_SYSENTER:
	case ZYDIS_MNEMONIC_VMCALL:
	case ZYDIS_MNEMONIC_VMMCALL: kind->reads = ADA_PARTS_ALL; return true;
	case ZYDIS_MNEMONIC_FXSAVE:
	case ZYDIS_MNEMONIC_FXSAVE64:
	case ZYDIS_MNEMONIC_XSAVE:
	case ZYDIS_MNEMONIC_XSAVE64:
	case ZYDIS_MNEMONIC_XSAVEC:
	case ZYDIS_MNEMONIC_XSAVEC64:
	case ZYDIS_MNEMONIC_XSAVEOPT:
	case ZYDIS_MNEMONIC_XSAVEOPT64: kind->reads = ADA_PARTS_VECTORS; return false;
	default: return false;
	}
}

/* `fixed`: of this instruction alone, as its operands are. */
static void describe(struct kind *kind, const ZydisDecoder *decoder, const uint8_t *bytes, size_t length, bool fixed)
{
	ZydisDecodedInstruction instruction;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(decoder, bytes, length, &instruction, operands))) {
		kind->reads = ADA_PARTS_ALL;
		return;
	}
	if (describe_special(kind, &instruction))
		return;
	describe_flags(kind, &instruction);
	kind->zeroes = !fixed && makes_constant(instruction.mnemonic);
	for (unsigned i = 0; i < instruction.operand_count; i++)
		describe_operand(kind, &instruction, &operands[i], fixed);
}

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

/* --- an instruction, from its kind */

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

	if (rm != RSP)
		return rm == RBP && !mod ? 0 : general[numbers->rm];
	if (instruction->raw.sib.base != RBP || mod)
		reads = general[numbers->base];
	return numbers->index == RSP ? reads : reads | general[numbers->index];
}

static void apply(struct ada_effect *effect, const struct operand *operand, unsigned number, bool has_rex)
{
	if (operand->width == WIDTH_VECTOR) {
		effect->reads |= operand->reads ? vector(number) : 0;
		effect->writes |= operand->writes ? vector(number) : 0;
	} else if (operand->width == WIDTH_LOW && !has_rex && number >= 4) { /* ah ch dh bh */
		effect->reads |= operand->reads ? general[number - 4] : 0;
	} else if (operand->width != WIDTH_NONE) {
		effect->reads |= operand->reads ? general_read(operand->width, number) : 0;
		effect->writes |= operand->writes ? general_written(operand->width, number) : 0;
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
	bool of_stack = rm == RSP ? numbers->base == RSP : numbers->rm == RBP;

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
		return !instruction->raw.disp.value && numbers->reg == (instruction->raw.modrm.rm == RSP ? numbers->base : numbers->rm);
	return same && (instruction->mnemonic == ZYDIS_MNEMONIC_MOV || instruction->mnemonic == ZYDIS_MNEMONIC_XCHG);
}

static bool is_constant(const struct kind *kind, const ZydisDecodedInstruction *instruction, const struct numbers *numbers)
{
	const struct operand *operands = kind->operands;

	if (!kind->zeroes || instruction->raw.modrm.mod != 3)
		return false;
	if (instruction->mnemonic == ZYDIS_MNEMONIC_OR)
		return instruction->raw.imm[0].size && instruction->raw.imm[0].value.s == -1;
	if (instruction->mnemonic == ZYDIS_MNEMONIC_AND)
		return instruction->raw.imm[0].size && !instruction->raw.imm[0].value.s;
	if (!operands[PLACE_REG].width || !operands[PLACE_RM].width)
		return false;
	return numbers->rm == (instruction->encoding == ZYDIS_INSTRUCTION_ENCODING_VEX ? numbers->third : numbers->reg);
}

static struct ada_effect apply_kind(const struct kind *kind, const ZydisDecodedInstruction *instruction)
{
	struct ada_effect effect = { .reads = kind->reads, .writes = kind->writes };
	const struct operand *operands = kind->operands;
	const struct numbers numbers = numbers_of(instruction);
	bool has_modrm = instruction->attributes & ZYDIS_ATTRIB_HAS_MODRM, memory = kind->addresses && instruction->raw.modrm.mod != 3;

	if (has_modrm) {
		ada_parts before = effect.reads;

		apply(&effect, &operands[PLACE_REG], numbers.reg, numbers.has_rex);
		apply(&effect, &operands[PLACE_THIRD], numbers.third, true);
		if (!memory)
			apply(&effect, &operands[PLACE_RM], numbers.rm, numbers.has_rex);
		else
			effect.reads |= address_reads(instruction, &numbers);
		if (is_constant(kind, instruction, &numbers))
			effect.reads = before;
	}
	apply(&effect, &operands[PLACE_OPCODE], numbers.opcode, numbers.has_rex);
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
	struct kind alone = { 0 };
	uint64_t key = key_of(instruction);
	bool plain = instruction->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY || instruction->encoding == ZYDIS_INSTRUCTION_ENCODING_VEX;

	for (uint64_t i = key * 0x9E3779B97F4A7C15ull >> 52; plain; i = (i + 1) % KINDS) {
		struct kind *kind = &effects->kinds[i];

		if (kind->key == key)
			return apply_kind(kind, instruction);
		if (kind->key)
			continue;
		if (effects->count >= KINDS_FULL)
			break;
		effects->count++;
		kind->key = key;
		describe(kind, decoder, bytes, instruction->length, false);
		return apply_kind(kind, instruction);
	}
	describe(&alone, decoder, bytes, instruction->length, true);
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
