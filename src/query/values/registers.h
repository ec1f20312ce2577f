/* The registers of a detail record by the machine's own names, whatever place in the record each has: of a call rdi, rsi, rdx, rcx, r8, r9,
 * rax, r10 and xmm0 to xmm7, of a return rax, rdx, xmm0 and xmm1; of both the return address, rbp and rsp. */
#ifndef ADA_QUERY_REGISTERS_H
#define ADA_QUERY_REGISTERS_H
#include <stdint.h>
#include "atf.h"

enum ada_native {
	ADA_NATIVE_RDI,
	ADA_NATIVE_RSI,
	ADA_NATIVE_RDX,
	ADA_NATIVE_RCX,
	ADA_NATIVE_R8,
	ADA_NATIVE_R9,
	ADA_NATIVE_RAX,
	ADA_NATIVE_R10,
	ADA_NATIVE_RETURN_ADDRESS,
	ADA_NATIVE_RBP,
	ADA_NATIVE_RSP,
	ADA_NATIVE_XMM0,
	ADA_NATIVE_XMM7 = ADA_NATIVE_XMM0 + 7,
	ADA_NATIVES
};
extern const char *const ada_native_names[ADA_NATIVES];

enum ada_native_state { ADA_NATIVE_ABSENT, ADA_NATIVE_REDACTED, ADA_NATIVE_KNOWN };
/* Fills in `value` where the record has that register. */
enum ada_native_state ada_native_value(const struct atf_detail *record, enum ada_native number, uint64_t *value);
#endif
