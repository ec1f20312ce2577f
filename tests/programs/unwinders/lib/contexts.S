# A library's getcontext and setcontext, and a setjmp and longjmp, of names that nobody knows.
	.text
.macro FUNCTION name
	.p2align 4
	.globl \name
	.type \name,@function
\name:
	.cfi_startproc
.endm
.macro END name
	.cfi_endproc
	.size \name,.-\name
.endm
FUNCTION keep_place			# rdi: rbx rbp r12 r13 r14 r15 rsp rip
	mov %rbx,(%rdi)
	mov %rbp,8(%rdi)
	mov %r12,16(%rdi)
	mov %r13,24(%rdi)
	mov %r14,32(%rdi)
	mov %r15,40(%rdi)
	lea 8(%rsp),%rdx
	mov %rdx,48(%rdi)
	mov (%rsp),%rdx
	mov %rdx,56(%rdi)
	xor %eax,%eax
	ret
END keep_place
FUNCTION keep_place_popped
	pop %rdx
	mov %rbx,(%rdi)
	mov %rbp,8(%rdi)
	mov %r12,16(%rdi)
	mov %r13,24(%rdi)
	mov %r14,32(%rdi)
	mov %r15,40(%rdi)
	mov %rsp,48(%rdi)
	mov %rdx,56(%rdi)
	xor %eax,%eax
	jmp *%rdx
END keep_place_popped
FUNCTION go_to_place
	mov %esi,%eax
	mov (%rdi),%rbx
	mov 8(%rdi),%rbp
	mov 16(%rdi),%r12
	mov 24(%rdi),%r13
	mov 32(%rdi),%r14
	mov 40(%rdi),%r15
	mov 48(%rdi),%rsp
	jmp *56(%rdi)
END go_to_place
	.section .note.GNU-stack,"",@progbits
