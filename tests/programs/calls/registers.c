/* Every register and flag that a call may find live: all sixteen xmm, all general ones, carry to overflow, as they were.
 *
 * expect: vectors kept, integers kept, flags kept
 */
#include <stdint.h>
#include <string.h>
#include "check.h"

/* An entry of five bytes and more that changes rax alone. */
__asm__(".text\n.type leaf, @function\nleaf:\n\tmov $0x1234, %eax\n\tret\n.size leaf, . - leaf\n");

static uint64_t in[16][2], out[16][2];
__attribute__((used)) uint64_t saved[14];

/* r15 holds the flags to set; what was in each register after the call goes to `saved`, the flags last. */
void around(uint64_t flags);
__asm__(".text\n.type around, @function\naround:\n"
	"	push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15; sub $8, %rsp\n"
	"	mov %rdi, %r15\n"
	"	mov $1, %ebx; mov $2, %ecx; mov $3, %edx; mov $4, %esi; mov $5, %edi; mov $6, %ebp; mov $7, %r8d; mov $8, %r9d\n"
	"	mov $9, %r10d; mov $10, %r11d; mov $11, %r12d; mov $12, %r13d; mov $13, %r14d\n"
	"	push %r15; popf\n"
	"	call leaf\n"
	"	pushf; pop %r15\n"
	"	mov %rbx, saved(%rip); mov %rcx, 8+saved(%rip); mov %rdx, 16+saved(%rip); mov %rsi, 24+saved(%rip)\n"
	"	mov %rdi, 32+saved(%rip); mov %rbp, 40+saved(%rip); mov %r8, 48+saved(%rip); mov %r9, 56+saved(%rip)\n"
	"	mov %r10, 64+saved(%rip); mov %r11, 72+saved(%rip); mov %r12, 80+saved(%rip); mov %r13, 88+saved(%rip)\n"
	"	mov %r14, 96+saved(%rip); mov %r15, 104+saved(%rip)\n"
	"	cld; add $8, %rsp; pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"
	"	ret\n.size around, . - around\n");

void vectors_around(void *from, void *to);
__asm__(".text\n.type vectors_around, @function\nvectors_around:\n"
	"	push %rsi; sub $16, %rsp\n"
	"	.irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n movups \\n*16(%rdi),%xmm\\n\n .endr\n"
	"	call leaf\n"
	"	add $16, %rsp; pop %rsi\n"
	"	.irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n movups %xmm\\n,\\n*16(%rsi)\n .endr\n"
	"	ret\n.size vectors_around, . - vectors_around\n");

int main(void)
{
	static const uint64_t flags[] = { 0x202, 0x2d7, 0xad7, 0xa03, 0x246 };
	int integers = 1, flags_kept = 1, vectors = 1;

	for (int round = 0; round < 1000; round++) {
		uint64_t set = flags[round % 5];

		around(set);
		for (int i = 0; i < 13; i++)
			integers &= saved[i] == i + 1u;
		flags_kept &= (saved[13] & 0x8d5) == (set & 0x8d5);
		for (int i = 0; i < 32; i++)
			in[i / 2][i % 2] = 0x0123456789abcdefull * (i + 3 + round);
		vectors_around(in, out);
		vectors &= !memcmp(in, out, sizeof in);
	}
	printf("vectors %s, integers %s, flags %s\n", vectors ? "kept" : "changed", integers ? "kept" : "changed",
	       flags_kept ? "kept" : "changed");
	return 0;
}
