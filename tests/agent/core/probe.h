/* A call of which every register is known: probe.S. */
#ifndef TESTS_AGENT_PROBE_H
#define TESTS_AGENT_PROBE_H
#include <stdint.h>

#define PROBE_FLAGS 0x8d5 /* those of arithmetic: OF SF ZF AF PF CF */

struct probe {
	uint64_t rax, rbx, rcx, rdx, rsi, rdi, rbp, rsp, r8, r9, r10, r11, r12, r13, r14, r15;
	uint64_t flags, unused;
	uint64_t xmm[16][2];
};
/* With the registers *in, from the stack that ends at `sp` (NULL: this one), on top of it `words` words of `stack`. */
void probe_call(const struct probe *in, struct probe *out, const void *stack, uint64_t words, void *sp);
extern char probe_return[], probed[], probe_tail[];
extern void *probe_target;
extern uint64_t probe_results[6]; /* rax rdx xmm0 xmm1 */
#endif
