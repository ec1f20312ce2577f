# Another stack: void ada_switch(void *argument, void (*work)(void *), uint64_t stack, uint64_t *left)
#
# Calls work(argument) with the stack pointer at `stack`, and stores in *left where the one that it leaves ends: what lies below
# that is free meanwhile. The program's registers are on the stack that is left, all of them: whoever looks there for pointers
# (a collector that stops this thread) finds each one.
#
# The new stack begins with where the other one is (abi/aside.h).
#
# Unwinders find the caller through rbp. gdb takes a caller that lies below its callee for a damaged stack, but for one name.
#include "offsets.h"

	.text
	.globl __morestack
	.hidden __morestack
	.type __morestack,@function
__morestack:
	.cfi_startproc
	push %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp,-16
	mov %rsp,%rbp
	.cfi_def_cfa_register rbp
	push %rbx
	push %r12
	push %r13
	push %r14
	push %r15
	mov %rsp,(%rcx)
	mov %rsp,%rax
	mov %rdx,%rsp
	and $-16,%rsp
	push %rax
	movabs $ADA_ASIDE_MARK,%rax
	push %rax
	call *%rsi
	leave
	.cfi_def_cfa rsp,8
	ret
	.cfi_endproc
	.size __morestack,.-__morestack

# void ada_switch_back(uint64_t left): that call of ada_switch returns, from wherever this is, as if its work were done.
	.globl ada_switch_back
	.hidden ada_switch_back
	.type ada_switch_back,@function
ada_switch_back:
	mov %rdi,%rsp
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbx
	pop %rbp
	ret
	.size ada_switch_back,.-ada_switch_back

# void ada_call_libc(const void *function, long a, long b): libc may use vector registers, which a slow path must
# leave alone. Its SSE code leaves the upper halves of ymm and zmm as they are.
	.globl ada_call_libc
	.hidden ada_call_libc
	.type ada_call_libc,@function
ada_call_libc:
	.cfi_startproc
	push %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp,-16
	mov %rsp,%rbp
	.cfi_def_cfa_register rbp
	sub $256,%rsp
	and $-16,%rsp
	.set at,0
	.irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
	movups %xmm\n,at(%rsp)
	.set at,at+16
	.endr
	mov %rdi,%rax
	mov %rsi,%rdi
	mov %rdx,%rsi
	call *%rax
	.set at,0
	.irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
	movups at(%rsp),%xmm\n
	.set at,at+16
	.endr
	leave
	.cfi_def_cfa rsp,8
	ret
	.cfi_endproc
	.size ada_call_libc,.-ada_call_libc
	.section .note.GNU-stack,"",@progbits
