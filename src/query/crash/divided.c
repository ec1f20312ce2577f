/* An integer division by zero. The processor reports a quotient that is too large in the same way, so the registers have to prove it: the
 * divisor is one that is 0, or the dividend is too small for any other divisor to do that. */
#include <Zydis/Zydis.h>
#include <signal.h>
#include "query/crash/internal.h"
#include "query/session/source.h"

static uint64_t low_bits(uint64_t value, unsigned bits)
{
	return bits == 64 ? value : value & ((1ull << bits) - 1);
}

static bool divides_by_zero(const struct ada_crash_cause *cause, const ZydisDecodedInstruction *instruction,
			    const ZydisDecodedOperand *divisor)
{
	static const char *const names[] = { "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
					     "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15" };
	unsigned bits = divisor->size;
	ZydisRegister full = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, divisor->reg.value);
	uint64_t low = low_bits(ada_crash_number(cause, "rax"), bits), high = low_bits(ada_crash_number(cause, "rdx"), bits);
	uint64_t sign = 1ull << (bits - 1);

	if (bits < 32)
		return false;
	if (divisor->type == ZYDIS_OPERAND_TYPE_REGISTER && full >= ZYDIS_REGISTER_RAX && full <= ZYDIS_REGISTER_R15 &&
	    !low_bits(ada_crash_number(cause, names[full - ZYDIS_REGISTER_RAX]), bits))
		return true;
	if (instruction->mnemonic == ZYDIS_MNEMONIC_DIV)
		return !high;
	return low != sign && high == (low & sign ? low_bits(UINT64_MAX, bits) : 0);
}

int ada_crash_divided(struct ada_crash_cause *cause)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction instruction;
	ZydisDecoder decoder;
	const uint8_t *code;
	uint64_t bytes;

	if (cause->signal != SIGFPE || !cause->recorded ||
	    ada_json_u64(ada_json_get(cause->process->manifest, "crash"), "code", 0) != FPE_INTDIV)
		return 0;
	code = ada_process_constant(cause->process, ada_crash_number(cause, "rip"), cause->ns, &bytes);
	if (code && ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) &&
	    ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, bytes, &instruction, operands)) &&
	    (instruction.mnemonic == ZYDIS_MNEMONIC_DIV || instruction.mnemonic == ZYDIS_MNEMONIC_IDIV) &&
	    divides_by_zero(cause, &instruction, &operands[0]))
		cause->kind = ADA_CRASH_DIVISION;
	return 0;
}
