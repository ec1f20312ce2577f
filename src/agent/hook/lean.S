# The hooks of functions that leave registers to them: ada_entry and ada_exit (hook.S), without what these do for others.
#
# Budget: 54 instructions at entry and 47 at exit, plus two for each register that a variant saves: no locked one, no call.
#
# Rules, besides those of hook.S, whose 2 to 5 hold here
#  6. A variant (variant.c) touches its scratch registers and the flags, and of the rest what it saves itself. The stack pointer stays
#     where it is: what is saved lies below it, in the 128 bytes that a signal handler leaves alone. So does the trampoline's word.
#  7. Whatever isn't plain goes to the hook that saves all, as if there had been no other: nothing is written by then that counts.
#     What a rule may look at is untouched where the policy asks for it.
#  8. Thread state lies at fixed distances from the thread pointer, which ada_variant_bind() writes into the instructions.
#
#            rsp - 56 ...  - 16            - 8       rsp                      + 8
#   entry   | what is saved    | ENTRY_NEXT | back into the trampoline | the function's return slot
#   exit    | what is saved, and the results|                          | the function's return slot, at rsp
#
# A section of rseq that is aborted starts anew with what it needs: at entry the hook (r11), at exit nothing but the stack.
#include "offsets.h"
#include "dwarf.inc"
#include "event.inc"

	.hidden ada_setup, ada_site_hash, ada_sites, ada_entry, ada_exit, ada_exit_known, ada_pass_exit

#define NEXT -8
#define UNBOUND 0x70000000		/* a distance that nobody has written yet */

# Where ada_variant_bind() writes: the last four bytes of the instruction before.
.macro BOUND list
.Lbound\@:
	.pushsection \list,"a"
	.long .Lbound\@-4-.
	.popsection
.endm
.macro LIST_MARK list, name
	.section .rodata.\list,"a"
	.balign 4
	.globl ada_\name
	.hidden ada_\name
ada_\name:
.endm
	LIST_MARK bound_self, bound_self
	LIST_MARK bound_rseq, bound_rseq
	.text

# \register = this thread, or one that is all zero
.macro THREAD register
	mov %fs:UNBOUND,%\register
	BOUND .rodata.bound_self
.endm
.macro ARM name
	lea .Lcs_\name(%rip),%rax
	mov %rax,%fs:UNBOUND
	BOUND .rodata.bound_rseq
.endm
.macro DESCRIPTOR name
	RSEQ_SECTION \name		# aborts as in hook.S; the bytes below the stack pointer are in use
	lea -128(%rsp),%rsp
	.cfi_adjust_cfa_offset 128
	pushf
	.cfi_adjust_cfa_offset 8
	btl $8,(%rsp)
	lea 136(%rsp),%rsp
	.cfi_adjust_cfa_offset -136
	jc .Lfull_\name
	jmp .Larm_\name
.endm

# Branches to \named where the policy asks for function number rax.
.macro POLICY flag, scratch, named
	mov ada_setup+SETUP_POLICY(%rip),%\scratch
	add (%\scratch),%\scratch
	testb $\flag,(%\scratch,%rax)
	jnz \named
.endm

.macro KEEP at, registers:vararg
	.set kept,\at
	.ifnb \registers
	.irp register,\registers
	.set kept,kept-8
	mov %\register,kept(%rsp)
	.endr
	.endif
.endm
.macro BACK at, registers:vararg
	.set kept,\at
	.ifnb \registers
	.irp register,\registers
	.set kept,kept-8
	mov kept(%rsp),%\register
	.endr
	.endif
.endm

# From a trampoline, as ada_entry. Scratch: rax rcx rdx r10 r11 and the flags, of which the hook saves \saved.
.macro ENTRY name, saved:vararg
	.globl ada_\name
	.hidden ada_\name
	.type ada_\name,@function
	.p2align 6
ada_\name:
	.cfi_startproc
	.cfi_def_cfa rsp, 16
	cmpq $0,ada_setup+SETUP_SCALE(%rip)
	jne ada_entry
	KEEP NEXT, \saved
	mov (%rsp),%r11
	mov HOOK_NUMBER(%r11),%eax
	POLICY ADA_POLICY_CALL, r10, .Lfull_\name
	mov 8(%rsp),%rax
	mov HOOK_CACHE(%r11),%r10
	cmp %rax,SITE_RETURN_ADDRESS(%r10)
	jne .Lprobe_\name
.Lfound_\name:
	mov SITE_ENTRY(%r10),%rax
	mov %rax,NEXT(%rsp)
.Larm_\name:
	ARM \name
.Lstart_\name:
	THREAD r10
	mov THREAD_INDEX(%r10),%rcx
	test %rcx,%rcx
	jz .Lfull_\name			# before rdtsc: the thread may be one that must not read it
	cmpl $ADA_CHUNK_BYTES,(%rcx)
	jae .Lfull_\name
	rdtsc
	shl $32,%rdx
	or %rdx,%rax
	mov (%rcx),%edx
	mov %rax,EVENT_COUNTER(%rcx,%rdx)
	prefetchw PREFETCH_AHEAD(%rcx,%rdx)
	mov THREAD_TID_CALL(%r10),%rax
	mov %rax,EVENT_TID(%rcx,%rdx)
	mov 4(%rcx),%eax
	add THREAD_SHADOW(%r10),%rax	# the frame
	cmp THREAD_SHADOW_END(%r10),%rax
	jae .Lfull_\name
	mov 4(%rcx),%r10d
	shr $5,%r10d			# ADA_FRAME_BYTES
	mov %r10d,EVENT_DEPTH(%rcx,%rdx)
	movl $ADA_NO_DETAIL,EVENT_DETAIL_SEQ(%rcx,%rdx)
	mov %r10d,FRAME_DEPTH(%rax)
	mov HOOK_NUMBER(%r11),%r10d
	mov %r10d,FRAME_NUMBER(%rax)
	mov HOOK_FUNCTION_ID(%r11),%r10
	mov %r10,EVENT_FUNCTION_ID(%rcx,%rdx)
	mov %r10,FRAME_FUNCTION_ID(%rax)
	mov EVENT_COUNTER(%rcx,%rdx),%r10
	mov %r10,FRAME_COUNTER(%rax)
	lea 8(%rsp),%r10
	mov %r10,FRAME_SLOT(%rax)
	sub FRAME_SLOT-ADA_FRAME_BYTES(%rax),%r10
	cmp $-ADA_NEAR_BYTES,%r10	# as unsigned: 1 to ADA_NEAR_BYTES below
	jb .Lfull_\name
	movabs $STATE_PUSH,%r10
	add %r10,(%rcx)			# commit
.Lend_\name:
	BACK NEXT, \saved
	ret

# A caller that the cache word doesn't hold: as in entry.inc.
.Lprobe_\name:
	mov HOOK_FUNCTION_ID(%r11),%rdx
	movabs $0x9E3779B97F4A7C15,%r10
	mov %rdx,%rcx
	shl $32,%rcx
	xor %rax,%rcx
	imul %r10,%rcx
	shr $(64-ADA_SITE_HASH_BITS),%rcx
.Lprobe_here_\name:
	lea ada_site_hash(%rip),%r10
	mov (%r10,%rcx,8),%r10
	test %r10,%r10
	jz .Lfull_\name
	cmp %rax,SITE_RETURN_ADDRESS(%r10)
	jne .Lprobe_next_\name
	cmp %rdx,SITE_FUNCTION_ID(%r10)
	je .Lfound_\name
.Lprobe_next_\name:
	inc %ecx
	and $((1<<ADA_SITE_HASH_BITS)-1),%ecx
	jmp .Lprobe_here_\name
.Lfull_\name:
	BACK NEXT, \saved
	jmp ada_entry
	DESCRIPTOR \name
	.cfi_endproc
	.size ada_\name,.-ada_\name
.endm
	ENTRY entry_lean
	ENTRY entry_lean_arguments, rcx, rdx
	ENTRY entry_lean_flags, rax, rcx, rdx, r10, r11

# The return address is saved in the slot; but where the slot still holds the number of a stub (less than ADA_STUB_COUNT), in the
# site, as ada_exit says it. This rule is true on both sides of the store: some unwinders look up an instruction's predecessor.
#define LE32(number) (number)&255, (number)>>8&255, (number)>>16&255, (number)>>24&255
#define SLOT_OR_SITE(field) DW_CFA_expression, 16, 36, DW_OP_lit0+8, DW_OP_minus, DW_OP_dup, DW_OP_deref, DW_OP_dup, \
	DW_OP_const4u, LE32(ADA_STUB_COUNT), DW_OP_lt, DW_OP_bra, 4, 0, DW_OP_drop, DW_OP_skip, 18, 0, \
	DW_OP_swap, DW_OP_drop, DW_OP_lit0+5, DW_OP_shl, DW_OP_rip, DW_OP_const1s, -64, DW_OP_and, DW_OP_dup, \
	DW_OP_plus_uconst, field, DW_OP_deref_size, 4, DW_OP_plus, DW_OP_plus_uconst, field+4+SITE_RETURN_ADDRESS, DW_OP_plus

# From a stub, as ada_exit. Scratch: rsi r8 r10 r11 and the flags, of which the hook saves \first and \saved. Results are saved
# always. \field: offset of what leads to ada_sites.
.macro EXIT name, field, first, saved:vararg
	.p2align 6
	.skip 64-ADA_EXIT_PASS
	jmp ada_pass_exit		# ADA_EXIT_PASS before \name: where ada_region_pass makes it begin
	.globl ada_\name
	.hidden ada_\name
	.type ada_\name,@function
	.p2align 6
ada_\name:
	.cfi_startproc
	.cfi_def_cfa rsp, 8
	.cfi_escape SLOT_OR_SITE(\field)
	cmpq $0,ada_setup+SETUP_SCALE(%rip)
	.byte 0x0f,0x85			# jne rel32, never the short form
	.long ada_exit-.-4
	.if \first
	KEEP 0, rsi, r11
	.endif
	mov (%rsp),%esi
	shl $5,%esi			# SITE_BYTES
	lea ada_sites(%rip),%r11
	.if .-ada_\name-4-\field
	.error "field"
	.endif
	mov SITE_RETURN_ADDRESS(%r11,%rsi),%rsi
	mov %rsi,(%rsp)			# from here on the unwinder sees an ordinary frame
	.cfi_offset rip,-8
	KEEP -16, \saved
.Larm_\name:
	ARM \name
.Lstart_\name:
	THREAD r10
	mov THREAD_INDEX(%r10),%rsi
	test %rsi,%rsi
	jz .Lfull_\name			# before rdtsc: the thread may be one that must not read it
	rdtsc				# before all else: on some CPUs it waits for what is under way
	shl $32,%rdx
	or %rdx,%rax
	mov (%rsi),%edx
	cmp $ADA_CHUNK_BYTES,%edx
	jae .Lfull_\name
	mov 4(%rsi),%r8d
	add THREAD_SHADOW(%r10),%r8	# behind the innermost frame
	cmp %rsp,FRAME_SLOT-ADA_FRAME_BYTES(%r8)
	jne .Lfull_\name
	mov %rax,EVENT_COUNTER(%rsi,%rdx)
	mov FRAME_NUMBER-ADA_FRAME_BYTES(%r8),%eax
	POLICY ADA_POLICY_RETURN, r11, .Lfull_\name
	mov FRAME_DEPTH-ADA_FRAME_BYTES(%r8),%eax
	mov %eax,EVENT_DEPTH(%rsi,%rdx)
	movl $ADA_NO_DETAIL,EVENT_DETAIL_SEQ(%rsi,%rdx)
	mov THREAD_TID_RETURN(%r10),%rax
	mov %rax,EVENT_TID(%rsi,%rdx)
	mov FRAME_FUNCTION_ID-ADA_FRAME_BYTES(%r8),%rax
	mov %rax,EVENT_FUNCTION_ID(%rsi,%rdx)
	movabs $STATE_POP,%rax
	add %rax,(%rsi)			# commit
.Lend_\name:
	mov %rsp,%rax
	sub FRAME_SLOT-2*ADA_FRAME_BYTES(%r8),%rax
	cmp $1,%rax			# watched (shadow.c): 1
	jbe .Larm_\name			# this slot's next frame: it tail-called the one just closed
	BACK -16, \saved
	.if \first
	BACK 0, rsi, r11
	.endif
	ret
.Lfull_\name:				# the slot is as a return finds it
	BACK -16, \saved
	.if \first
	BACK 0, rsi, r11
	.endif
	jmp ada_exit_known
	DESCRIPTOR \name
	.cfi_endproc
	.size ada_\name,.-ada_\name
.endm
	EXIT exit_lean, 23, 0, rax, rdx
	EXIT exit_lean_flags, 33, 1, rax, rdx, r8, r10
	.globl ada_lean_end
	.hidden ada_lean_end
ada_lean_end:
	LIST_MARK bound_self, bound_self_end
	LIST_MARK bound_rseq, bound_rseq_end
	.section .note.GNU-stack,"",@progbits
