#include "query/values/registers.h"
#include "query/values/arguments.h"

#define ARGUMENTS 8 /* x[0] and on of a call */

const char *const ada_native_names[ADA_NATIVES] = { "rdi", "rsi", "rdx",  "rcx",  "r8",	  "r9",	  "rax",  "r10",  "return_address",
						    "rbp", "rsp", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",
						    "xmm7" };

/* Place of the register in x; -1: none. */
static int place_of(const struct atf_detail *record, enum ada_native number)
{
	if (record->event_type != ATF_DETAIL_RETURN)
		return number < ARGUMENTS ? (int)number : -1;
	switch ((unsigned int)number) {
	case ADA_NATIVE_RAX: return 0;
	case ADA_NATIVE_RDX: return 1;
	case ADA_NATIVE_XMM0: return 2;
	case ADA_NATIVE_XMM0 + 1: return 3;
	}
	return -1;
}

enum ada_native_state ada_native_value(const struct atf_detail *record, enum ada_native number, uint64_t *value)
{
	int place = place_of(record, number);

	if (place >= 0) {
		if (ada_captured_redacted(record, place))
			return ADA_NATIVE_REDACTED;
		*value = record->x[place];
		return ADA_NATIVE_KNOWN;
	}
	switch ((unsigned int)number) {
	case ADA_NATIVE_RETURN_ADDRESS: *value = record->lr; return ADA_NATIVE_KNOWN;
	case ADA_NATIVE_RBP: *value = record->fp; return ADA_NATIVE_KNOWN;
	case ADA_NATIVE_RSP: *value = record->sp; return ADA_NATIVE_KNOWN;
	}
	if (number < ADA_NATIVE_XMM0 || record->event_type == ATF_DETAIL_RETURN || !(record->flags & ATF_DETAIL_VECTORS))
		return ADA_NATIVE_ABSENT;
	*value = record->vectors[number - ADA_NATIVE_XMM0];
	return ADA_NATIVE_KNOWN;
}
