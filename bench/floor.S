# What no tracer can beat: two clock reads and the stores of two events round a call of a plain leaf.
#   void floor_index(uint64_t calls, void *ring, uint64_t ring_bytes)	ring_bytes: a power of two
# And with detail: the stores of both lanes, records of 320 bytes with 128 of the stack.
#   void floor_detail(uint64_t calls, void *ring, uint64_t ring_bytes, void *detail, void *detail_end)
.macro EVENT
	rdtsc
	shl $32,%rdx
	or %rdx,%rax
	lea (%r12,%r14),%rcx
	mov %rax,(%rcx)
	mov %rbx,8(%rcx)
	mov %r13,16(%rcx)
	mov %r12,24(%rcx)
	add $32,%r14
	and %r13,%r14
.endm
	.text
	.p2align 6
plain:
	lea 1(%rdi),%rax
	ret
	.globl floor_index
	.p2align 6
floor_index:
	push %rbx
	push %r12
	push %r13
	push %r14
	mov %rdi,%rbx
	mov %rsi,%r12
	lea -1(%rdx),%r13
	xor %r14d,%r14d
1:	EVENT
	call plain
	EVENT
	dec %rbx
	jnz 1b
	pop %r14
	pop %r13
	pop %r12
	pop %rbx
	ret

.macro RECORD vectors
	mov %rax,(%r15)
	mov %rbx,8(%r15)
	mov %rsi,16(%r15)
	mov %rbp,24(%r15)
	mov %rsp,32(%r15)
	mov %r13,40(%r15)
	.irp n,0,1,2,3
	mov %rbx,48+8*\n(%r15)
	.endr
	.if \vectors
	.irp n,4,5,6,7
	mov %rbx,48+8*\n(%r15)
	.endr
	.irp n,0,1,2,3,4,5,6,7
	movq %xmm\n,240+8*\n(%r15)
	.endr
	.endif
	.irp n,0,1,2,3,4,5,6,7
	movups 16*\n(%rsp),%xmm8
	movups %xmm8,112+16*\n(%r15)
	.endr
	add $320,%r15
	cmp %r8,%r15
	cmovae %r9,%r15
.endm
	.globl floor_detail
	.p2align 6
floor_detail:
	push %rbx
	push %r12
	push %r13
	push %r14
	push %r15
	mov %rdi,%rbx
	mov %rsi,%r12
	lea -1(%rdx),%r13
	xor %r14d,%r14d
	mov %rcx,%r15
	mov %rcx,%r9
1:	EVENT
	RECORD 1
	call plain
	EVENT
	RECORD 0
	dec %rbx
	jnz 1b
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbx
	ret
	.section .note.GNU-stack,"",@progbits
