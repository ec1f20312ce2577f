/* The instruction that crashed, or called what did: the file's, with the registers that the crash has recorded. */
#include "query/crash/internal.h"
#include "query/session/source.h"

bool ada_crash_decode(const struct ada_crash_cause *cause, uint64_t address, struct ada_crash_instruction *of)
{
	uint64_t bytes;
	const uint8_t *code = ada_process_constant(cause->process, address, cause->ns, &bytes);
	ZydisDecoder decoder;

	of->address = address;
	return code && ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) &&
	       ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, bytes, &of->instruction, of->operands));
}

bool ada_crash_register(const struct ada_crash_cause *cause, ZydisRegister name, uint64_t *value)
{
	static const char *const names[] = { "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
					     "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15" };
	ZydisRegister full = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name);

	if (full < ZYDIS_REGISTER_RAX || full > ZYDIS_REGISTER_R15)
		return false;
	*value = ada_crash_number(cause, names[full - ZYDIS_REGISTER_RAX]);
	return true;
}

bool ada_crash_accesses(const struct ada_crash_cause *cause, const struct ada_crash_instruction *of, const ZydisDecodedOperand *operand,
			uint64_t *address)
{
	uint64_t base = 0, index = 0;

	if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY || operand->mem.segment == ZYDIS_REGISTER_FS ||
	    operand->mem.segment == ZYDIS_REGISTER_GS)
		return false;
	if (operand->mem.base == ZYDIS_REGISTER_RIP)
		base = of->address + of->instruction.length;
	else if (operand->mem.base != ZYDIS_REGISTER_NONE && !ada_crash_register(cause, operand->mem.base, &base))
		return false;
	if (operand->mem.index != ZYDIS_REGISTER_NONE && !ada_crash_register(cause, operand->mem.index, &index))
		return false;
	*address = base + index * operand->mem.scale + (uint64_t)operand->mem.disp.value;
	return true;
}
