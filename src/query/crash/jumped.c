/* Calls through a pointer to no code, and stack frames that were written over.
 *
 * Where a call led to an address without code the instruction pointer is that address, and the word on the stack leads behind the call. An
 * address that no pointer may have doesn't get there: the call itself crashes, or the return whose address was overwritten. What the
 * compiler guards aborts in __stack_chk_fail, which the function itself calls before it returns. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "query/crash/internal.h"
#include "query/session/source.h"

#define CALL_BYTES_MAX 8

static bool is_address(uint64_t value)
{
	return (uint64_t)((int64_t)(value << 16) >> 16) == value;
}

/* The word that the stack pointer led to. */
static bool stack_word(const struct ada_crash_cause *cause, uint64_t *word)
{
	const char *text = ada_json_text(ada_json_get(cause->process->manifest, "crash"), "stack", "");
	uint64_t value = 0;

	for (size_t i = 16; i-- > 0;) { /* the lowest byte comes first, its higher digit before the lower */
		size_t at = i ^ 1;
		char digit[2] = { strlen(text) < 16 ? 'x' : text[at], 0 }, *end;

		value = value << 4;
		value |= strtoul(digit, &end, 16);
		if (*end)
			return false;
	}
	*word = value;
	return true;
}

static bool is_indirect(const struct ada_crash_instruction *of)
{
	return (of->instruction.mnemonic == ZYDIS_MNEMONIC_CALL || of->instruction.mnemonic == ZYDIS_MNEMONIC_JMP) &&
	       of->operands[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE;
}

/* Whether the innermost open call's code calls through a pointer in front of that address, which can have led to `target`. */
static bool is_behind_call(const struct ada_crash_cause *cause, uint64_t address, uint64_t target)
{
	uint64_t start, bytes, value;

	if (!ada_process_code(cause->process, cause->path.frames.items[cause->path.frames.count - 1].function_id, address - 1, &start,
			      &bytes))
		return false;
	for (unsigned length = 2; length <= CALL_BYTES_MAX; length++) {
		struct ada_crash_instruction of;

		if (ada_crash_decode(cause, address - length, &of) && of.instruction.length == length &&
		    of.instruction.mnemonic == ZYDIS_MNEMONIC_CALL && is_indirect(&of) &&
		    (of.operands[0].type != ZYDIS_OPERAND_TYPE_REGISTER ||
		     (ada_crash_register(cause, of.operands[0].reg.value, &value) && value == target)))
			return true;
	}
	return false;
}

bool ada_crash_called(const struct ada_crash_cause *cause, uint64_t *address)
{
	uint64_t target = ada_crash_number(cause, "rip");
	int64_t code = ada_crash_code(cause);

	return cause->signal == SIGSEGV && cause->recorded && cause->path.frames.count && (code == SEGV_MAPERR || code == SEGV_ACCERR) &&
	       target == ada_crash_number(cause, "faultAddress") && stack_word(cause, address) && is_behind_call(cause, *address, target);
}

static void take_for(struct ada_crash_cause *cause, enum ada_crash_kind kind, uint64_t value)
{
	cause->kind = kind;
	cause->has_object = true;
	cause->object = value;
}

int ada_crash_jumped(struct ada_crash_cause *cause)
{
	struct ada_crash_instruction of;
	uint64_t value;

	if (cause->signal != SIGSEGV || !cause->recorded || !cause->path.frames.count)
		return 0;
	if (ada_crash_called(cause, &value)) {
		take_for(cause, ADA_CRASH_JUMP, ada_crash_number(cause, "rip"));
	} else if (ada_crash_code(cause) == SI_KERNEL && ada_crash_decode(cause, ada_crash_number(cause, "rip"), &of)) {
		if (of.instruction.mnemonic == ZYDIS_MNEMONIC_RET && stack_word(cause, &value) && !is_address(value))
			take_for(cause, ADA_CRASH_SMASHED, value);
		else if (is_indirect(&of) && of.operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
			 ada_crash_register(cause, of.operands[0].reg.value, &value) && !is_address(value))
			take_for(cause, ADA_CRASH_JUMP, value);
	}
	return 0;
}

int ada_crash_smashed(struct ada_crash_cause *cause)
{
	size_t count = cause->path.frames.count;

	if (cause->signal != SIGABRT || count < 2 ||
	    strcmp(ada_crash_symbol(cause->process, cause->path.frames.items[count - 1].function_id), "__stack_chk_fail"))
		return 0;
	cause->kind = ADA_CRASH_SMASHED;
	cause->frame = count - 2;
	return 0;
}
