/* Calls that may be led elsewhere, and others, in the library of forms.S; test_plan.c knows which. */
#include "function.inc"
	.text

FUNCTION calls_plainly
	push %rbp
	mov %rsp, %rbp
	mov $1, %edi
	call jump_plain
	call jump_endbr
	jc 1f
	call jump_plain
1:	pop %rbp
	ret
END calls_plainly

FUNCTION calls_behind_the_entry
	push %rbp
	mov %rsp, %rbp
	mov $1, %edi
	call jump_endbr + 4
	call 1f
1:	pop %rax
	pop %rbp
	ret
END calls_behind_the_entry

FUNCTION calls_at_once
	push %rbp
	call jump_plain
	call jump_plain
	pop %rbp
	ret
END calls_at_once

FUNCTION jumps_into_a_call
	push %rbp
	mov %rsp, %rbp
	mov $1, %edi
	jz 1f + 2
1:	call jump_plain
	pop %rbp
	ret
END jumps_into_a_call

FUNCTION calls_among_data
	push %rbp
	mov %rsp, %rbp
	mov $1, %edi
	call jump_plain
	pop %rbp
	ret
	.byte 0x06, 0x06
END calls_among_data
	.section .note.GNU-stack, "", @progbits
