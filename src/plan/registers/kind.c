/* What Zydis says of a kind of instruction. Where in doubt an instruction reads, and doesn't write. A write that is conditional, or leaves
 * a part as it was, is none. */
#include "plan/registers/kind.h"

static unsigned width_of(ZydisRegister name)
{
	switch (ZydisRegisterGetClass(name)) {
	case ZYDIS_REGCLASS_GPR8: return ADA_WIDTH_LOW;
	case ZYDIS_REGCLASS_GPR16: return ADA_WIDTH_WORD;
	case ZYDIS_REGCLASS_GPR32:
	case ZYDIS_REGCLASS_GPR64: return ADA_WIDTH_WHOLE;
	case ZYDIS_REGCLASS_XMM:
	case ZYDIS_REGCLASS_YMM:
	case ZYDIS_REGCLASS_ZMM: return ADA_WIDTH_VECTOR;
	default: return ADA_WIDTH_NONE;
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

static void describe_flags(struct ada_kind *kind, const ZydisDecodedInstruction *instruction)
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

static void describe_fixed(struct ada_kind *kind, const ZydisDecodedOperand *operand, bool writes)
{
	ZydisRegister name = operand->reg.value;
	unsigned width = width_of(name), number = (unsigned)ZydisRegisterGetId(name);
	bool reads = operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ;

	if (name >= ZYDIS_REGISTER_AH && name <= ZYDIS_REGISTER_BH) {
		if (reads)
			kind->reads |= ada_general[name - ZYDIS_REGISTER_AH];
	} else if (width == ADA_WIDTH_VECTOR) {
		kind->reads |= reads ? ada_vector(number) : 0;
		kind->writes |= writes ? ada_vector(number) : 0;
	} else if (width != ADA_WIDTH_NONE) {
		if (width == ADA_WIDTH_LOW && name >= ZYDIS_REGISTER_SPL)
			number = (unsigned)(name - ZYDIS_REGISTER_SPL) + 4;
		else if (width == ADA_WIDTH_LOW)
			number = (unsigned)(name - ZYDIS_REGISTER_AL);
		kind->reads |= reads ? ada_general_read(width, number) : 0;
		kind->writes |= writes ? ada_general_written(width, number) : 0;
	}
}

static int place_of(const ZydisDecodedOperand *operand)
{
	switch (operand->encoding) {
	case ZYDIS_OPERAND_ENCODING_MODRM_REG: return ADA_PLACE_REG;
	case ZYDIS_OPERAND_ENCODING_MODRM_RM: return ADA_PLACE_RM;
	case ZYDIS_OPERAND_ENCODING_OPCODE: return ADA_PLACE_OPCODE;
	case ZYDIS_OPERAND_ENCODING_NDSNDD: return ADA_PLACE_THIRD;
	default: return -1;
	}
}

static void describe_operand(struct ada_kind *kind, const ZydisDecodedInstruction *instruction, const ZydisDecodedOperand *operand,
			     bool fixed)
{
	bool writes = operand->actions & ZYDIS_OPERAND_ACTION_WRITE && !writes_in_part(instruction->mnemonic);
	int place = fixed ? -1 : place_of(operand);

	if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY) {
		if (operand->mem.type == ZYDIS_MEMOP_TYPE_VSIB)
			kind->reads |= ADA_PARTS_VECTORS;
		if (place == ADA_PLACE_RM) {
			kind->addresses = true;
			return;
		}
		if (width_of(operand->mem.base) == ADA_WIDTH_WHOLE)
			kind->reads |= ada_general[ZydisRegisterGetId(operand->mem.base)];
		if (width_of(operand->mem.index) == ADA_WIDTH_WHOLE)
			kind->reads |= ada_general[ZydisRegisterGetId(operand->mem.index)];
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
static bool describe_special(struct ada_kind *kind, const ZydisDecodedInstruction *instruction)
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

void ada_kind_describe(struct ada_kind *kind, const ZydisDecoder *decoder, const uint8_t *bytes, size_t length, bool fixed)
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
