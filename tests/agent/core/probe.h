/* A call of which every register is known: probe.S. */
#ifndef TESTS_AGENT_PROBE_H
#define TESTS_AGENT_PROBE_H
#include <stddef.h>
#include <stdint.h>
#include "abi/plan.h"

#define PROBE_FLAGS 0x8d5 /* those of arithmetic: OF SF ZF AF PF CF */

struct probe {
	uint64_t rax, rbx, rcx, rdx, rsi, rdi, rbp, rsp, r8, r9, r10, r11, r12, r13, r14, r15;
	uint64_t flags, unused;
	uint64_t xmm[16][2];
};
/* By enum ada_register. */
static const size_t probe_places[ADA_REGISTER_COUNT] = {
	offsetof(struct probe, rax), offsetof(struct probe, rcx),   offsetof(struct probe, rdx), offsetof(struct probe, rsi),
	offsetof(struct probe, rdi), offsetof(struct probe, r8),    offsetof(struct probe, r9),	 offsetof(struct probe, r10),
	offsetof(struct probe, r11), offsetof(struct probe, flags),
};

/* With the registers *in, from the stack that ends at `sp` (NULL: this one), on top of it `words` words of `stack`. */
void probe_call(const struct probe *in, struct probe *out, const void *stack, uint64_t words, void *sp);
extern char probe_return[], probed[], probe_tail[], probe_leaf[], probe_part[];
extern void *probe_target;
extern uint64_t probe_results[6]; /* rax rdx xmm0 xmm1 */
/* What probe_part found: rax, then the words of the red zone, downwards; probe_leaf has put 0x5a000000 and their distance there. */
extern uint64_t probe_red_zone[17];
#endif
