/* Why a function is not hooked. The texts are what `ada functions` and the manifest print: one key a reason, stable. */
#ifndef ADA_PLAN_REFUSAL_H
#define ADA_PLAN_REFUSAL_H
#include <stdint.h>

#define ADA_REFUSALS(X)                                                                                                                    \
	X(TOO_SHORT, "too-short", "no room for a jump in the function, its padding or near it")                                            \
	X(BRANCH_TARGET, "branch-target", "a branch, jump table or landing pad enters the bytes to be patched")                            \
	X(LABEL, "label", "a symbol, table or endbr64 marks one of the instructions to be moved")                                          \
	X(UNDECODABLE, "undecodable", "its first instructions can't be decoded or moved")                                                  \
	X(CALL_INSIDE, "call-inside", "a call in the bytes to be patched returns into them")                                               \
	X(NO_ENTRY_CFI, "no-entry-cfi", "its unwind table does not begin like a function's entry")                                         \
	X(IFUNC_RESOLVER, "ifunc-resolver", "runs while the loader relocates")                                                             \
	X(RUNTIME, "runtime", "belongs to a language run-time that keys on return addresses")                                              \
	X(CALLER_LOOKUP, "caller-lookup", "looks at its caller's address")                                                                 \
	X(RETURNS_TWICE, "returns-twice", "returns more than once")                                                                        \
	X(STACK_SWITCH, "stack-switch", "enters or leaves another stack")                                                                  \
	X(START, "start", "process or thread start: has no caller")                                                                        \
	X(NOT_A_CALL, "not-a-call", "its GOT slot is also read as data")                                                                   \
	X(INTERCEPTED, "intercepted", "taken over by ada itself")                                                                          \
	X(OVERLAP, "overlap", "shares its bytes with another function")                                                                    \
	X(EXCLUDED, "excluded", "left out by --functions or --exclude")                                                                    \
	X(BYTES_DIFFER, "bytes-differ", "the bytes in memory are not the file's")

enum ada_refusal {
	ADA_REFUSAL_NONE = 0,
#define X(id, key, text) ADA_REFUSAL_##id,
	ADA_REFUSALS(X)
#undef X
		ADA_REFUSAL_COUNT
};
const char *ada_refusal_key(enum ada_refusal refusal); /* "too-short"; "" for NONE */
const char *ada_refusal_text(enum ada_refusal refusal);
#endif
