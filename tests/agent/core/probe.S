# A call of which every register is known.
#   void probe_call(const struct probe *in, struct probe *out, const void *stack, uint64_t words, void *sp)
# Goes over to the stack that ends at sp (0: stays), copies `words` words of `stack` there, takes every register from *in, calls
# `probed` and puts what it returned into *out. `probed` is hooked: its results are probe_results.
#
# struct probe: rax rbx rcx rdx rsi rdi rbp rsp r8..r15 flags, unused (18 words), xmm0..15
	.text
	.globl probe_call, probe_return, probed, probe_tail, probe_leaf, probe_part
	.type probe_call,@function
probe_call:
	push %rbx
	push %rbp
	push %r12
	push %r13
	push %r14
	push %r15
	mov %rsp,saved_sp(%rip)
	mov %rsi,saved_out(%rip)
	mov %rdi,%rbx
	test %r8,%r8
	cmovz %rsp,%r8
	mov %r8,%rsp
1:	dec %rcx
	js 2f
	push (%rdx,%rcx,8)
	jmp 1b
2:	.irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
	movups 144+16*\n(%rbx),%xmm\n
	.endr
	push 128(%rbx)
	popf
	mov 0(%rbx),%rax
	mov 16(%rbx),%rcx
	mov 24(%rbx),%rdx
	mov 32(%rbx),%rsi
	mov 40(%rbx),%rdi
	mov 48(%rbx),%rbp
	mov 64(%rbx),%r8
	mov 72(%rbx),%r9
	mov 80(%rbx),%r10
	mov 88(%rbx),%r11
	mov 96(%rbx),%r12
	mov 104(%rbx),%r13
	mov 112(%rbx),%r14
	mov 120(%rbx),%r15
	mov 8(%rbx),%rbx
	call *probe_target(%rip)
probe_return:
	mov %rsp,saved_sp+8(%rip)
	mov saved_sp(%rip),%rsp
	pushf
	push %rbx
	mov saved_out(%rip),%rbx
	mov %rax,0(%rbx)
	pop 8(%rbx)
	pop 128(%rbx)
	mov %rcx,16(%rbx)
	mov %rdx,24(%rbx)
	mov %rsi,32(%rbx)
	mov %rdi,40(%rbx)
	mov %rbp,48(%rbx)
	mov saved_sp+8(%rip),%rax
	mov %rax,56(%rbx)
	mov %r8,64(%rbx)
	mov %r9,72(%rbx)
	mov %r10,80(%rbx)
	mov %r11,88(%rbx)
	mov %r12,96(%rbx)
	mov %r13,104(%rbx)
	mov %r14,112(%rbx)
	mov %r15,120(%rbx)
	.irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
	movups %xmm\n,144+16*\n(%rbx)
	.endr
	cld
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbp
	pop %rbx
	ret
	.size probe_call,.-probe_call

	.macro PAD name
	.pushsection __patchable_function_entries,"awo",@progbits,\name
	.balign 8
	.quad \name
	.popsection
	.type \name,@function
\name:	.byte 0x90,0x90,0x90,0x90,0x90
	.endm

# What it gets is what is told to stay but for the results: rax, rdx, xmm0, xmm1, and what the rest of them was at entry is
# compared by the test.
	PAD probed
	mov probe_results(%rip),%rax
	mov probe_results+8(%rip),%rdx
	movups probe_results+16(%rip),%xmm0
	movups probe_results+32(%rip),%xmm1
	ret
	.size probed,.-probed
	PAD probe_tail
	jmp probed
	.size probe_tail,.-probe_tail

# A leaf with something in all of its red zone, and a part of it, which is hooked and puts what it finds there into probe_red_zone.
	.type probe_leaf,@function
probe_leaf:
	.set at,8
	.rept 16
	movq $0x5a000000+at,-at(%rsp)
	.set at,at+8
	.endr
	jmp probe_part
	.size probe_leaf,.-probe_leaf
	PAD probe_part
	mov %rax,probe_red_zone(%rip)
	.set at,8
	.rept 16
	mov -at(%rsp),%rax
	mov %rax,probe_red_zone+at(%rip)
	.set at,at+8
	.endr
	jmp probed+5
	.size probe_part,.-probe_part

	.bss
	.balign 16
	.globl probe_results, probe_target, probe_red_zone
probe_results: .zero 48
probe_target: .zero 8
probe_red_zone: .zero 17*8		# rax, then what lay below the stack pointer, downwards
saved_sp: .zero 16
saved_out: .zero 8
	.section .note.GNU-stack,"",@progbits
