/* What a kind of instruction does to registers: those that it names by itself, and its operands, whichever registers these are. */
#ifndef ADA_PLAN_KIND_H
#define ADA_PLAN_KIND_H
#include "plan/registers/effect.h"

enum ada_width { ADA_WIDTH_NONE, ADA_WIDTH_LOW, ADA_WIDTH_WORD, ADA_WIDTH_WHOLE, ADA_WIDTH_VECTOR };
enum ada_place { ADA_PLACE_REG, ADA_PLACE_RM, ADA_PLACE_OPCODE, ADA_PLACE_THIRD, ADA_PLACE_COUNT };

struct ada_operand_effect {
	uint8_t width; /* enum ada_width */
	bool reads, writes;
};

struct ada_kind {
	uint64_t key;		 /* 0: none */
	ada_parts reads, writes; /* whatever the operands are */
	struct ada_operand_effect operands[ADA_PLACE_COUNT];
	bool addresses; /* its modrm may name memory, whose base and index are read */
	bool counts;	/* a shift: by nothing it leaves the flags */
	bool zeroes;	/* of two operands that are the same, or with some constant, it makes always the same */
};

/* Of the kind that the instruction at `bytes` is of. `fixed`: of this instruction alone, as its operands are. */
void ada_kind_describe(struct ada_kind *kind, const ZydisDecoder *decoder, const uint8_t *bytes, size_t length, bool fixed);

/* --- parts of registers, by their encoded numbers ------------------------------------------------------------------------ */

/* Numbers of general registers as encoded: rax rcx rdx rbx rsp rbp rsi rdi r8 ... r15. */
static const ada_parts ada_general[16] = {
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
#define ADA_LOW_BYTES ((1u << ADA_PARTS_GENERAL) - 1)
enum { ADA_ENCODED_RSP = 4, ADA_ENCODED_RBP = 5 };

static inline ada_parts ada_general_read(unsigned width, unsigned number)
{
	return width == ADA_WIDTH_LOW ? ada_general[number] & ADA_LOW_BYTES : ada_general[number];
}

static inline ada_parts ada_general_written(unsigned width, unsigned number)
{
	return width == ADA_WIDTH_WHOLE ? ada_general[number] : ada_general[number] & ADA_LOW_BYTES;
}

static inline ada_parts ada_vector(unsigned number)
{
	return number < 8 ? 1u << (24 + number) : 0;
}
#endif
