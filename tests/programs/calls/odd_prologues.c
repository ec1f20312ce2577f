/* Prologues that a copier gets wrong: rip-relative loads, a call, a jump, jrcxz, push imm, a call to the next instruction.
 *
 * expect: rip 42, call 43, jump 44, short 45, jrcxz 46 47, table 3 5 8, pic 48, push 49
 */
#include "check.h"

#define FUNCTION(name, body)                                                                                                               \
	__asm__(".text\n.p2align 4\n.type " #name ", @function\n" #name ":\n.cfi_startproc\n" body "\n.cfi_endproc\n.size " #name          \
		", . - " #name "\n")
__asm__(".data\nvalue_42: .long 42\n.text\n");
FUNCTION(plain_43, "mov $43, %eax; ret");
FUNCTION(rip_load, "mov value_42(%rip), %eax; ret");
FUNCTION(call_first, "call plain_43; ret");
FUNCTION(jump_first, "jmp 1f; .byte 0x0f, 0x0b, 0x0f, 0x0b; 1: mov $44, %eax; ret");
FUNCTION(short_jump, "test %edi, %edi; jz 1f; mov $45, %eax; ret; 1: xor %eax, %eax; ret");
FUNCTION(jrcxz_first, "mov %rdi, %rcx; jrcxz 1f; mov $46, %eax; ret; 1: mov $47, %eax; ret");
FUNCTION(table_jump, "lea 9f(%rip), %rdx; movslq (%rdx,%rdi,4), %rax; add %rdx, %rax; jmp *%rax\n"
		     ".p2align 2; 9: .long 1f - 9b, 2f - 9b, 3f - 9b; 1: mov $3, %eax; ret; 2: mov $5, %eax; ret; 3: mov $8, %eax; ret");
FUNCTION(pic_call, "call 1f; 1: pop %rdx; lea 48(%rdi), %eax; ret");
FUNCTION(push_first, "push $49; .cfi_adjust_cfa_offset 8; pop %rax; .cfi_adjust_cfa_offset -8; ret");
int rip_load(void), call_first(void), jump_first(void), short_jump(int n), jrcxz_first(long n), table_jump(long n);
int pic_call(int n), push_first(void);

int main(void)
{
	for (int i = 0; i < 100; i++)
		CHECK(rip_load() + call_first() + jump_first() + short_jump(1) + short_jump(0) + pic_call(0) == 222);
	printf("rip %d, call %d, jump %d, short %d, jrcxz %d %d, table %d %d %d, pic %d, push %d\n", rip_load(), call_first(), jump_first(),
	       short_jump(1), jrcxz_first(1), jrcxz_first(0), table_jump(0), table_jump(1), table_jump(2), pic_call(0), push_first());
	return 0;
}
