/* One function for each form of patch and each refusal; test_forms.c knows which. Built into a shared library. */
#include "function.inc"
	.text

/* Nothing behind it that could be padding: the next function follows at once. */
.macro PACKED name
	.globl \name
	.type \name, @function
\name:
	.cfi_startproc
.endm

FUNCTION jump_plain
	push %rbp
	mov %rsp, %rbp
	lea 1(%rdi), %rax
	pop %rbp
	ret
END jump_plain

FUNCTION jump_endbr
	endbr64
	push %rbp
	mov %rsp, %rbp
	lea 2(%rdi), %rax
	pop %rbp
	ret
END jump_endbr

FUNCTION nop_pad
	nop
	nop
	nop
	nop
	nop
	lea 3(%rdi), %rax
	ret
END nop_pad

FUNCTION nop_pad_endbr
	endbr64
	.byte 0x0f, 0x1f, 0x44, 0, 0
	lea 4(%rdi), %rax
	ret
END nop_pad_endbr

/* Two NOPs are not enough room, but may be copied. */
FUNCTION nop_short
	nop
	nop
	lea 5(%rdi), %rax
	ret
END nop_short

FUNCTION padding_three		/* 4 bytes and 12 of padding */
	mov %edi, %eax
	nop
	ret
END padding_three

FUNCTION padding_one
	ret
END padding_one

/* The immediate behind the displacement moves the place that it counts from. */
FUNCTION rip_immediate
	cmpl $7, value(%rip)
	mov $0, %eax
	sete %al
	add $10, %eax
	ret
END rip_immediate

FUNCTION rip_load
	mov value(%rip), %rax
	add %rdi, %rax
	ret
END rip_load

FUNCTION short_jcc
	test %edi, %edi
	jz 1f
	lea 20(%rdi), %rax
	ret
1:	mov $21, %eax
	ret
END short_jcc

FUNCTION near_jmp
	jmp jump_plain
END near_jmp

FUNCTION short_jmp
	jmp 1f
	.skip 20, 0x90
1:	lea 22(%rdi), %rax
	ret
END short_jmp

FUNCTION use_jrcxz
	mov %rdi, %rcx
	jrcxz 1f
	lea 23(%rdi), %rax
	ret
1:	mov $24, %eax
	ret
END use_jrcxz

FUNCTION use_loop		/* back into the patch: copied whole */
	mov %rdi, %rcx
	xor %eax, %eax
1:	add %rcx, %rax
	loop 1b
	ret
END use_loop

FUNCTION loop_at_entry		/* back to its first byte */
	add %edi, %esi
	dec %edi
	jnz loop_at_entry
	mov %esi, %eax
	ret
END loop_at_entry

FUNCTION loop_after_endbr
	endbr64
1:	add %edi, %esi
	dec %edi
	jnz 1b
	mov %esi, %eax
	ret
END loop_after_endbr

/* A loop too large to copy: over endbr64, with a jump of two bytes. */
FUNCTION long_loop_endbr
	endbr64
1:	add %edi, %esi
	.rept 50
	nopl 0x100(%rax,%rax)
	.endr
	dec %edi
	jnz 1b
	mov %esi, %eax
	ret
END long_loop_endbr

FUNCTION island_target		/* a backward branch from afar into bytes 3 to 5 */
	test %edi, %edi
1:	push %rbx
	mov %edi, %ebx
	.rept 50
	nopl 0x100(%rax,%rax)
	.endr
	mov %ebx, %eax
	pop %rbx
	dec %edi
	jns 1b
	ret
END island_target

/* The same with a call in the loop: it could not be copied whole, however short. */
FUNCTION island_call
	test %edi, %edi
1:	push %rbx
	mov %edi, %ebx
	call jump_plain
	mov %ebx, %edi
	pop %rbx
	dec %edi
	jns 1b
	ret
END island_call

FUNCTION call_first		/* returns behind the patch */
	call jump_plain
	add $30, %rax
	ret
END call_first

FUNCTION call_second
	push %rbx
	call jump_plain
	add $31, %rax
	pop %rbx
	ret
END call_second

FUNCTION call_register		/* push and call *%rdi: returns into the patch. Two bytes are safe */
	push %rbx
	call *%rsi
	pop %rbx
	add $32, %rax
	ret
END call_register

FUNCTION call_rip
	call *pointer(%rip)
	add $33, %rax
	ret
END call_rip

FUNCTION call_stack
	push %rsi
	nop
	call *(%rsp)
	pop %rsi
	ret
END call_stack

/* The target of a jump table lies in the patch. */
FUNCTION table_target
	test %edi, %edi
.Ltable_case0:
	push %rbx
	push %r12
	mov %edi, %eax
	lea table(%rip), %rcx
	movslq (%rcx,%rax,4), %rax
	add %rcx, %rax
	jmp *%rax
.Ltable_case1:
	pop %r12
	pop %rbx
	ret
END table_target

/* A pointer with a relocation leads into the patch. */
FUNCTION pointer_target
	test %edi, %edi
.Lpointer_label:
	push %rbx
	push %r12
	pop %r12
	pop %rbx
	ret
END pointer_target

/* So does its own lea: a computed goto. */
FUNCTION label_target
	test %edi, %edi
1:	push %rbx
	push %r12
	lea 1b(%rip), %rax
	pop %r12
	pop %rbx
	ret
END label_target

/* A landing pad in the patch: two bytes are left. */
	.p2align 4
	.globl landing_pad
	.type landing_pad, @function
landing_pad:
	.cfi_startproc
	.cfi_personality 0x9b, personality_pointer
	.cfi_lsda 0x1b, .Llsda
	push %rbx
	nop
.Lpad:	nop
	nop
	mov %edi, %eax
	pop %rbx
	ret
	.cfi_endproc
	.size landing_pad, . - landing_pad

/* Another function jumps into the patch. */
FUNCTION foreign_target
	test %edi, %edi
.Lforeign:
	push %rbx
	pop %rbx
	mov %edi, %eax
	ret
END foreign_target
FUNCTION foreign_source
	lea 1(%rdi), %edi
	jmp .Lforeign
END foreign_source

/* No room and no padding: the next function follows at once, and nothing near is free. */
	.p2align 4
	.rept 40
	.quad 0xc3909090909090c3
	.endr
PACKED packed_one
	ret
END packed_one
PACKED packed_short		/* the next function has bytes to spare */
	mov %edi, %eax
	ret
END packed_short
PACKED packed_next
	.rept 40
	lea 0x12345678(%rdi,%rdi), %rax
	.endr
	ret
END packed_next

/* Falls into the NOPs behind it: they are no padding. */
FUNCTION falls_through
	mov %edi, %eax
END falls_through
FUNCTION fallen_into
	lea 1(%rax), %eax
	ret
END fallen_into

/* Two entries, the second in the first one's patch. */
	.p2align 4
	.globl two_entries, second_entry
	.type two_entries, @function
	.type second_entry, @function
two_entries:
	.cfi_startproc
	xor %esi, %esi
second_entry:
	lea (%rdi,%rsi), %eax
	ret
	.cfi_endproc
	.size two_entries, . - two_entries
	.size second_entry, . - second_entry

/* The second begins where the first would be patched: behind its endbr64. */
	.p2align 4
	.globl endbr_alone, behind_endbr
	.type endbr_alone, @function
	.type behind_endbr, @function
endbr_alone:
	.cfi_startproc
	endbr64
behind_endbr:
	lea 26(%rdi), %rax
	xor %esi, %esi
	ret
	.cfi_endproc
	.size endbr_alone, . - endbr_alone
	.size behind_endbr, . - behind_endbr

/* Unwind rules of something that is no called function. */
	.p2align 4
	.globl no_entry
	.type no_entry, @function
no_entry:
	.cfi_startproc
	.cfi_def_cfa_offset 16
	mov $1, %eax
	mov $2, %eax
	jmp jump_plain
	.cfi_endproc
	.size no_entry, . - no_entry

/* Reached by a jump with another stack: the unwind rules at this place say so. */
	.p2align 4
	.globl outer_frame, inner_entry
	.type outer_frame, @function
	.type inner_entry, @function
outer_frame:
	.cfi_startproc
	push %rbx
	.cfi_def_cfa_offset 16
	mov $1, %ebx
	nop
	nop
inner_entry:
	mov $2, %eax
	add %ebx, %eax
	pop %rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size inner_entry, . - inner_entry
	.size outer_frame, . - outer_frame

/* --- what is on top of the stack is the return address */

FUNCTION barrier_adds
	lock addl $0, (%rsp)
	mov (%rdi), %eax
	ret
END barrier_adds

FUNCTION barrier_ors
	lock orq $0, (%rsp)
	mov (%rdi), %eax
	ret
END barrier_ors

FUNCTION adds_to_return		/* which goes on behind the next instruction of its caller */
	lock addq $1, (%rsp)
	mov (%rdi), %eax
	ret
END adds_to_return

FUNCTION exchanges_return
	mov %rdi, %rax
	lock xaddq %rax, (%rsp)
	ret
END exchanges_return

/* Parts of leaves with a red zone, that only .eh_frame knows: what a jump, or a table, leads to leaves the red zone alone. Of a
 * function that looks at its return address they are not hooked. */
.macro PART name
	.p2align 4
\name:
	.cfi_startproc
.endm
.macro END_PART
	.cfi_endproc
.endm
FUNCTION part_leaf
	mov %rdi, -8(%rsp)
	test %edi, %edi
	js part_jumped
	jmp part_returns
1:	mov -8(%rsp), %rax
	ret
END part_leaf
PART part_jumped
	nopl 0x12345678(%rax,%rax)
	jmp 1b
END_PART
PART part_returns
	nopl 0x12345678(%rax,%rax)
	mov -8(%rsp), %rax
	ret
END_PART
FUNCTION part_starts		/* its part leads to its start */
	mov %rdi, -8(%rsp)
	jmp part_again
END part_starts
PART part_again
	nopl 0x12345678(%rax,%rax)
	dec %rdi
	jns part_starts
	xor %eax, %eax
	ret
END_PART
FUNCTION part_looks
	nopl 0x12345678(%rax,%rax)
	js part_of_looks
2:	mov (%rsp), %rax
	ret
END part_looks
PART part_of_looks
	nopl 0x12345678(%rax,%rax)
	jmp part_further
END_PART
PART part_further
	nopl 0x12345678(%rax,%rax)
	jmp 2b
END_PART
PART part_called
	nopl 0x12345678(%rax,%rax)
	ret
END_PART
FUNCTION part_caller
	sub $8, %rsp
	.cfi_def_cfa_offset 16
	call part_called
	add $8, %rsp
	.cfi_def_cfa_offset 8
	jmp jump_plain		/* a tail call */
END part_caller

/* Labels that a handler of faults may look for. Where the first instruction has one no form is left; where a later one has, that
 * of two bytes. A function's only name is no label. */
FUNCTION labelled_first
labelled_first_fault:
	mov (%rdi), %eax
	nopl 0x12345678(%rax,%rax)
	ret
END labelled_first
FUNCTION labelled_second
	mov %edi, %eax
labelled_second_fault:
	add (%rsi), %eax
	nopl 0x12345678(%rax,%rax)
	ret
END labelled_second
FUNCTION labelled_behind
	lea 0x12345(%rdi), %rdi
labelled_behind_fault:
	mov (%rsi), %eax
	ret
END labelled_behind
FUNCTION labelled_loop		/* its loop would be copied whole */
	mov %edi, %eax
1:	dec %eax
labelled_loop_fault:
	nopl 0x12345678(%rax,%rax)
	jnz 1b
	ret
END labelled_loop
	.p2align 4
labelled_only:
	.cfi_startproc
	lea 0x12345(%rdi), %rdi
	ret
	.cfi_endproc
FUNCTION marked_inside		/* for an indirect jump that nothing else tells of */
	mov %edi, %eax
	endbr64
	ret
END marked_inside

FUNCTION setjmp
	mov $0, %eax
	mov $0, %edx
	ret
END setjmp

FUNCTION longjmp		/* exported: taken over */
	mov $0, %eax
	mov $0, %edx
	ret
END longjmp

FUNCTION undecodable_first
	.byte 0x06, 0x06, 0x06, 0x06, 0x06, 0x06
	ret
END undecodable_first

/* A 66 prefix: Intel and AMD disagree about the length. */
FUNCTION prefixed_jump
	.byte 0x66, 0xe9, 0, 0, 0, 0
	ret
END prefixed_jump

FUNCTION transaction
	xbegin 1f
1:	ret
END transaction

FUNCTION resolver
	lea jump_plain(%rip), %rax
	ret
END resolver
	.globl chosen
	.type chosen, @gnu_indirect_function
	.set chosen, resolver

/* The part of it that only a jump reaches. */
	.p2align 4
	.type jump_plain.cold, @function
jump_plain.cold:
	.cfi_startproc
	mov $1, %eax
	mov $2, %eax
	ret
	.cfi_endproc
	.size jump_plain.cold, . - jump_plain.cold

/* Known to .eh_frame only. */
	.p2align 4
.Lnameless:
	.cfi_startproc
	mov $40, %eax
	ret
	.cfi_endproc

FUNCTION after_nameless
	call .Lnameless
	ret
END after_nameless

	.section .rodata
	.p2align 2
table:	.long .Ltable_case0 - table, .Ltable_case1 - table

	.section .gcc_except_table, "a", @progbits
.Llsda:	.byte 0xff, 0xff, 0x01
	.uleb128 .Lsites_end - .Lsites
.Lsites:
	.uleb128 0
	.uleb128 1
	.uleb128 .Lpad - landing_pad
	.uleb128 0
.Lsites_end:

	.data
	.p2align 3
	.globl value
	.hidden value
value:	.quad 7
	.hidden personality_pointer
personality_pointer:
	.quad 0
pointer:
	.quad jump_plain
	.quad .Lpointer_label
	.section .note.GNU-stack, "", @progbits
