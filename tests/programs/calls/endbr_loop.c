/* endbr64, then a loop back to within the next five bytes: no patch may lie where a branch lands. CFI makes them functions.
 *
 * expect: 1000 1000 7 55
 */
#include "check.h"

#define FUNCTION(name, body)                                                                                                               \
	__asm__(".text\n.p2align 4\n.globl " #name "\n.type " #name ", @function\n" #name ":\n.cfi_startproc\n" body                       \
		"\n.cfi_endproc\n.size " #name ", . - " #name "\n")
/* the loop's target is right behind endbr64 */
FUNCTION(loop_at_start, "endbr64; 1: dec %edi; inc %eax; test %edi, %edi; jg 1b; ret");
/* the target is the second instruction, two bytes behind */
FUNCTION(loop_at_second, "endbr64; xor %eax, %eax; 1: inc %eax; cmp %edi, %eax; jl 1b; ret");
/* short: four bytes and a ret, with another function right behind it */
FUNCTION(tiny, "lea (%rdi,%rsi), %eax; ret");
/* a branch back to the very entry */
FUNCTION(loop_to_entry, "add %rdi, %rsi; dec %rdi; jnz loop_to_entry; mov %rsi, %rax; ret");
int loop_at_start(int n);
int loop_at_second(int n);
int tiny(int a, int b);
long loop_to_entry(long n, long sum);

int main(void)
{
	int first;

	__asm__ volatile("sub $128, %%rsp; xor %%eax, %%eax; call loop_at_start; add $128, %%rsp"
			 : "=&a"(first)
			 : "D"(1000)
			 : "cc", "memory");
	for (int i = 1; i < 200; i++) {
		CHECK(loop_at_second(i) == i);
		CHECK(tiny(i, i) == 2 * i);
		CHECK(loop_to_entry(i, 0) == i * (i + 1) / 2);
	}
	printf("%d %d %d %ld\n", first, loop_at_second(1000), tiny(3, 4), loop_to_entry(10, 0));
	return 0;
}
