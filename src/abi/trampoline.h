/* What the recorder reads of an agent's trampolines and near stubs, to know whose they are before it leads anything past them
 * (recorder/budget/words.h). The rest of their layout is the agent's own (agent/core/layout.h).
 *
 *   code      +--------------------------+
 *             | trampoline or near stub  |  where a patch, a bound call or a GOT slot leads
 *             +--------------------------+
 *   code + ADA_TRAMPOLINE_DATA
 *   +0        | u64 function id          |
 *   +8        | u64 return stub          |  near stubs: 0 until the call they are for is recorded for the first time
 *   +31       | ADA_TRAMPOLINE_PASSED, ..|  near stubs: until then it passed once, since the function is muted
 *   +32       | u64 where a GOT hook's   |  trampolines of GOT slots
 *             |     call goes on         |
 *             | ... or the filter        |  of a mutex's function in libc (agent/hook/filter.c): where its patch may lead instead
 */
#ifndef ADA_ABI_TRAMPOLINE_H
#define ADA_ABI_TRAMPOLINE_H

#define ADA_TRAMPOLINE_DATA (1u << 20)
#define ADA_TRAMPOLINE_DATA_FUNCTION 0u
#define ADA_TRAMPOLINE_DATA_STUB 8u
#define ADA_TRAMPOLINE_DATA_PASSED 31u
#define ADA_TRAMPOLINE_PASSED 0x80u
#define ADA_TRAMPOLINE_DATA_TARGET 32u
#define ADA_TRAMPOLINE_DATA_FILTER 32u
#define ADA_JUMP_OPCODE 0xe9u  /* jmp rel32, of 5 bytes */
#define ADA_SHORT_OPCODE 0xebu /* jmp rel8, of 2 bytes */
#define ADA_JUMP_BYTES 5u
#define ADA_SHORT_BYTES 2u
#endif
