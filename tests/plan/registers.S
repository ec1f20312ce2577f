/* Functions of which test_registers.c knows what they leave to hooks. Built into a shared library. */
#include "function.inc"
	.text

FUNCTION writes_first
	mov $1, %eax
	mov $2, %ecx
	cmp %esi, %edi
	ret
END writes_first

FUNCTION one_path
	mov $0, %eax
	test %edi, %edi
	je 1f
	mov $1, %r8d
1:	ret
END one_path

FUNCTION both_paths
	mov $0, %eax
	test %edi, %edi
	je 1f
	mov $1, %r8d
	ret
1:	mov $2, %r8d
	ret
END both_paths

FUNCTION reads_then_writes
	mov %r9, %rax
	mov $0, %r9d
	nop
	ret
END reads_then_writes

FUNCTION pushes
	push %r10
	mov $1, %r10d
	pop %r10
	nop
	ret
END pushes

FUNCTION spills
	mov %rcx, -8(%rsp)
	mov $1, %ecx
	mov -8(%rsp), %rcx
	ret
END spills

FUNCTION moves_away
	mov %rcx, %r11
	mov $1, %ecx
	mov %r11, %rcx
	ret
END moves_away

FUNCTION swaps
	xchg %rcx, %rbx
	nop
	nop
	xchg %rcx, %rbx
	ret
END swaps

FUNCTION counts_back
	add $64, %rsi
	sub $64, %rsi
	lea 8(%rdi), %rdi
	lea -8(%rdi), %rdi
	ret
END counts_back

/* What was pushed is read; what is popped without is new. */
FUNCTION pops_constant
	push $7
	pop %rcx
	nop
	nop
	ret
END pops_constant

FUNCTION writes_parts
	mov $1, %al
	mov $1, %cx
	mov $1, %dh
	nop
	ret
END writes_parts

FUNCTION reads_its_byte
	cmp %esi, %edi
	sete %al
	movzbl %al, %eax
	ret
END reads_its_byte

FUNCTION writes_byte_reads_all
	mov $1, %r8b
	mov %r8, %rax
	ret
END writes_byte_reads_all

FUNCTION reads_high_byte
	movzbl %ch, %eax
	mov $0, %ecx
	ret
END reads_high_byte

FUNCTION moves_perhaps
	cmp %esi, %edi
	cmovl %edi, %ecx
	nop
	ret
END moves_perhaps

FUNCTION shifts_by_count
	mov $3, %ecx
	shl %cl, %edi
	ret
END shifts_by_count

FUNCTION shifts_by_nothing
	mov $3, %ecx
	.byte 0xc1, 0xe7, 0		/* shl $0, %edi */
	ret
END shifts_by_nothing

FUNCTION counts_up
	inc %edi
	nop
	nop
	nop
	ret
END counts_up

FUNCTION adds_with_carry
	adc $0, %edi
	nop
	nop
	ret
END adds_with_carry

FUNCTION zeroes
	xor %r8d, %r8d
	or $-1, %r9d
	and $0, %edx
	ret
END zeroes

FUNCTION finds_bit
	bsf %edi, %ecx
	nop
	nop
	ret
END finds_bit

FUNCTION asks_cpu
	push %rbx
	mov $0, %eax
	cpuid
	pop %rbx
	ret
END asks_cpu

FUNCTION asks_kernel
	mov $39, %eax
	syscall
	ret
END asks_kernel

FUNCTION copies
	mov $3, %ecx
	rep movsb
	ret
END copies

FUNCTION keeps_flags
	pushf
	add $1, %edi
	popf
	nop
	ret
END keeps_flags

FUNCTION idles
	mov %rsi, %rsi
	lea 0(%rcx), %rcx
	xchg %ax, %ax
	ret
END idles

FUNCTION counts_down
	mov $5, %ecx
1:	nop
	loop 1b
	ret
END counts_down

/* The loop reads in its second round what it wrote in its first, but r10 it reads in its first. */
FUNCTION loops
	mov $9, %ecx
1:	mov %r10, %rax
	mov $1, %r10d
	sub $1, %ecx
	jne 1b
	ret
END loops

FUNCTION takes_chain
	mov 8(%r10), %rax
	mov $0, %r10d
	ret
END takes_chain

/* --- calls */

FUNCTION calls_import
	sub $8, %rsp
	call getpid@PLT
	add $8, %rsp
	ret
END calls_import

FUNCTION calls_slot
	sub $8, %rsp
	call *getpid@GOTPCREL(%rip)
	add $8, %rsp
	ret
END calls_slot

FUNCTION looks_behind_import
	sub $8, %rsp
	call getppid@PLT
	mov %r8, %rax
	add $8, %rsp
	ret
END looks_behind_import

FUNCTION calls_pointer
	sub $8, %rsp
	call *%rdi
	add $8, %rsp
	ret
END calls_pointer

FUNCTION jumps_to_pointer
	xor %eax, %eax
	nop
	nop
	jmp *%rdi
END jumps_to_pointer

FUNCTION jumps_to_import
	mov $1, %edi
	jmp getpid@PLT
END jumps_to_import

	.type writes_r11, @function
	.p2align 4
writes_r11:
	.cfi_startproc
	mov $1, %r11d
	ret
	.cfi_endproc
	.size writes_r11, . - writes_r11

FUNCTION calls_known
	mov $1, %ecx
	call writes_r11
	ret
END calls_known

FUNCTION jumps_to_known
	mov $1, %ecx
	jmp writes_r11
END jumps_to_known

	.type reads_r8, @function
	.p2align 4
reads_r8:
	.cfi_startproc
	lea 1(%r8), %rax
	mov $0, %r8d
	ret
	.cfi_endproc
	.size reads_r8, . - reads_r8

FUNCTION hands_over
	call reads_r8
	nop
	ret
END hands_over

FUNCTION hands_its_own
	mov $1, %r8d
	call reads_r8
	ret
END hands_its_own

FUNCTION recurs
	mov $1, %ecx
	test %edi, %edi
	je 1f
	sub $1, %edi
	call recurs_again_locally
1:	ret
END recurs

FUNCTION recurs_again
	mov $2, %ecx
	test %edi, %edi
	je 1f
	call recurs_locally
1:	ret
END recurs_again
	.set recurs_locally, recurs
	.set recurs_again_locally, recurs_again

/* A result in r10, which the caller's caller takes, too. */
FUNCTION leaves_r10
	mov $5, %r10d
	mov $6, %r9d
	ret
END leaves_r10

FUNCTION passes_r10_on
	mov $1, %ecx
	call leaves_locally
	ret
END passes_r10_on
	.set leaves_locally, leaves_r10
	.set passes_locally, passes_r10_on

FUNCTION jumps_with_r10
	mov $1, %ecx
	jmp leaves_locally
END jumps_with_r10
	.set jumps_locally, jumps_with_r10

FUNCTION takes_r10
	call passes_locally
	mov %r10, %rax
	ret
END takes_r10

FUNCTION takes_r9
	call jumps_locally
	mov %r9, %rax
	ret
END takes_r9

/* gcc's large code model: it knows what it calls through a register, and holds r9 over both calls. */
FUNCTION calls_by_address
	lea writes_r11(%rip), %rax
	call *%rax
	ret
END calls_by_address
	.set calls_by_address_locally, calls_by_address

FUNCTION holds_r9
	mov $9, %r9d
	call calls_by_address_locally
	mov %r9, %rax
	ret
END holds_r9

/* As clang's preserve_most: all but r11 is as before. */
FUNCTION preserves_most
	push %rax
	push %rcx
	push %rdx
	push %rsi
	push %rdi
	push %r8
	push %r9
	push %r10
	sub $8, %rsp
	call getpid@PLT
	add $8, %rsp
	pop %r10
	pop %r9
	pop %r8
	pop %rdi
	pop %rsi
	pop %rdx
	pop %rcx
	pop %rax
	ret
END preserves_most

FUNCTION preserves_by_mov
	sub $24, %rsp
	mov %r8, 8(%rsp)
	mov %r10, 16(%rsp)
	call getpid@PLT
	mov 8(%rsp), %r8
	mov 16(%rsp), %r10
	add $24, %rsp
	ret
END preserves_by_mov

/* A resolver of a TLS descriptor: all but rax is as before. */
FUNCTION describes_thread_data
	mov 8(%rax), %rax
	nop
	ret
END describes_thread_data

FUNCTION uses_descriptor
	mov $1, %ecx
	lea somewhere(%rip), %rax
	call *(%rax)
	lea 1(%rax), %rax
	ret
END uses_descriptor

/* --- ways that don't return */

FUNCTION traps
	test %edi, %edi
	je 1f
	mov $1, %ecx
	ret
1:	ud2
END traps

FUNCTION aborts
	test %edi, %edi
	je 1f
	mov $1, %r11d
	mov $1, %r10d
	ret
1:	push %rbp
	call abort@PLT
END aborts

/* In its midst the same call ends nothing that can be seen, but what follows it belongs to another way. */
FUNCTION aborts_inside
	mov $1, %eax
	test %edi, %edi
	je 1f
	push %rbp
	call abort@PLT
2:	mov %r11, %rax
	ret
1:	mov $1, %r11d
	jmp 2b
END aborts_inside

FUNCTION goes_on_elsewhere
	test %edi, %edi
	mov $1, %r8d
	je goes_on_elsewhere.cold
1:	mov $1, %r9d
	nop
2:	ret
END goes_on_elsewhere
	.section .text.unlikely, "ax"
	.type goes_on_elsewhere.cold, @function
goes_on_elsewhere.cold:
	.cfi_startproc
	mov $1, %r10d
	test %esi, %esi
	jne 1b
	mov $2, %r9d
	jmp 2b
	.cfi_endproc
	.size goes_on_elsewhere.cold, . - goes_on_elsewhere.cold
	.text

FUNCTION cannot_be_decoded
	mov $1, %eax
	mov $2, %ecx
	ret
	.byte 0x06, 0x07, 0x0e
END cannot_be_decoded

/* Whoever is called here is entered with a return address that is no call's. */
FUNCTION finds_itself
	mov $1, %ecx
	call 1f
1:	pop %rax
	ret
END finds_itself

/* --- vectors */

FUNCTION leaves_vectors
	lea 1(%rdi), %rax
	pxor %xmm0, %xmm0
	ret
END leaves_vectors

FUNCTION reads_vector
	lea 1(%rdi), %rax
	movq %xmm3, %rax
	ret
END reads_vector

FUNCTION converts_into_vector
	cvtsi2sd %edi, %xmm0
	nop
	ret
END converts_into_vector

	.data
somewhere:
	.quad 0, 0
	.section .note.GNU-stack, "", @progbits
