/* An integer division by zero. The processor reports a quotient that is too large in the same way, so the registers have to prove it: the
 * divisor is one that is 0, or the dividend is too small for any other divisor to do that. */
#include <signal.h>
#include "query/crash/internal.h"

static uint64_t low_bits(uint64_t value, unsigned bits)
{
	return bits == 64 ? value : value & ((1ull << bits) - 1);
}

static bool divides_by_zero(const struct ada_crash_cause *cause, const struct ada_crash_instruction *of)
{
	const ZydisDecodedOperand *divisor = &of->operands[0];
	unsigned bits = divisor->size;
	uint64_t low, high, value, sign = 1ull << (bits - 1);

	if (bits < 32)
		return false;
	low = low_bits(ada_crash_number(cause, "rax"), bits);
	high = low_bits(ada_crash_number(cause, "rdx"), bits);
	if (divisor->type == ZYDIS_OPERAND_TYPE_REGISTER && ada_crash_register(cause, divisor->reg.value, &value) && !low_bits(value, bits))
		return true;
	if (of->instruction.mnemonic == ZYDIS_MNEMONIC_DIV)
		return !high;
	return low != sign && high == (low & sign ? low_bits(UINT64_MAX, bits) : 0);
}

int ada_crash_divided(struct ada_crash_cause *cause)
{
	struct ada_crash_instruction of;

	if (cause->signal != SIGFPE || !cause->recorded || ada_crash_code(cause) != FPE_INTDIV)
		return 0;
	if (ada_crash_decode(cause, ada_crash_number(cause, "rip"), &of) &&
	    (of.instruction.mnemonic == ZYDIS_MNEMONIC_DIV || of.instruction.mnemonic == ZYDIS_MNEMONIC_IDIV) &&
	    divides_by_zero(cause, &of))
		cause->kind = ADA_CRASH_DIVISION;
	return 0;
}
