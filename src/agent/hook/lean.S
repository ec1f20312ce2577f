# The hooks of functions that leave registers to them: ada_entry and ada_exit (hook.S), without what these do for others.
#
# Budget: 36 instructions at entry, six more where no near stub knows the caller, three more where a red zone stays, and 35 at exit; and two
# for each register that a variant saves. With detail at most 30 more at entry, 8 more for vector arguments, and 26 at exit; and 28 where 128
# bytes of the stack are copied. No locked one, no call, no branch that isn't plainly predicted.
#
# Rules, besides those of hook.S, whose 2 to 5 hold here
#  6. A variant (variant.c) touches its scratch registers and the flags, and of the rest what it saves itself. The stack pointer stays
#     where it is: what is saved lies below it, in the 128 bytes that a signal handler leaves alone. So does the trampoline's word.
#  7. Whatever isn't plain goes to the hook that saves all, as if there had been no other: nothing is written by then that counts.
#     What a rule may look at is untouched where the policy asks for it.
#  8. Thread state (struct ada_lean) lies at fixed distances from the thread pointer, which ada_variant_bind() writes into the
#     instructions. A fork's child finds its parent's there, but `ada_limit` is zero in it: no event has room.
#
#            rsp - 56 ...  - 16            - 8       rsp                      + 8
#   entry   | what is saved    | ENTRY_NEXT | back into the trampoline | the function's return slot
#   exit    | what is saved, and the results|                          | the function's return slot, at rsp
#
# A section of rseq that is aborted starts anew with what it needs: at entry the hook (r11), at exit nothing but the stack.
#include "offsets.h"
#include "dwarf.inc"
#include "event.inc"

	.hidden ada_setup, ada_site_hash, ada_sites, ada_stubs, ada_entry, ada_entry_near, ada_entry_below, ada_exit, ada_exit_known, ada_pass_exit, ada_limit

#define NEXT -8
#define LEAD (BELOW/16)			/* of a trampoline that leaves a red zone alone: ADA_TRAMPOLINE_LEAD; else 0 */
#define UNBOUND 0x70000000		/* and more: a distance that nobody has written yet, and what is to be added to it */

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
	LIST_MARK bound_lean, bound_lean
	LIST_MARK bound_rseq, bound_rseq
	.text
	.globl ada_lean_begin
	.hidden ada_lean_begin
ada_lean_begin:

# An instruction with a word of struct ada_lean.
.macro LEAN instruction, field, register
	\instruction %fs:UNBOUND+\field,%\register
	BOUND .rodata.bound_lean
.endm
# \chunk = the open chunk, \event = offset of the next event; to \full where there is no room. Comes before rdtsc, which the thread
# may be one not to read.
.macro ROOM chunk, event, full
	LEAN mov, LEAN_INDEX, \chunk
	movzwl (%\chunk),%\event\()d
	cmp ada_limit(%rip),%\event\()d
	jae \full
.endm
.macro ARM name
	lea .Lcs_\name(%rip),%rax
	mov %rax,%fs:UNBOUND
	BOUND .rodata.bound_rseq
.endm
# r11 = where the hook is reckoned from (HOOK_*).
.macro HOOK
	mov (%rsp),%r11
	.if LEAD
	lea -LEAD(%r11),%r11
	.endif
.endm
.macro DESCRIPTOR name, detail, entry
	RSEQ_SECTION \name		# aborts as in hook.S; the bytes below the stack pointer are in use
	.if \detail
	movups .Lkept_xmm0(%rsp),%xmm0
	.if \entry
	HOOK
	.endif
	.endif
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

# Where each register is kept, and what the stack's bytes are copied through.
	.set .Lkept_rcx,-16		# pairs of a record lie together
	.set .Lkept_rdx,-24
	.set .Lkept_r10,-32
	.set .Lkept_rax,-40
	.set .Lkept_r11,-48
	.set .Lkept_rsi,-56
	.set .Lkept_r8,-64
	.set .Lkept_xmm0,-80
.macro KEEP registers:vararg
	.ifnb \registers
	.irp register,\registers
	mov %\register,.Lkept_\register(%rsp)
	.endr
	.endif
.endm
.macro BACK registers:vararg
	.ifnb \registers
	.irp register,\registers
	mov .Lkept_\register(%rsp),%\register
	.endr
	.endif
.endm

# What an entry hook keeps for its record beside what it saves for the function, of rax, rdx, rcx and r10.
.macro SCRATCH what, number
	.if \number==1
	\what r10
	.elseif \number==2
	\what rax, r10
	.elseif \number==3
	\what rax
	.elseif \number==4
	\what rax, rdx, rcx, r10
	.endif
.endm

# --- detail: as detail.inc says it, through xmm0, which is kept from the hook's beginning to its end

# \register = the next record of the detail chunk that goes with \chunk; to \full where there is no room.
.macro RECORD register, chunk, full
	movzwl STATE_DETAIL(%\chunk),%\register\()d
	cmp ada_setup+SETUP_LIMIT(%rip),%\register\()d
	ja \full
	shl $4,%\register\()d		# ADA_DETAIL_UNIT
	LEAN add, LEAN_DETAIL, \register
	prefetchw DETAIL_AHEAD(%\register)
	prefetchw DETAIL_AHEAD+64(%\register)
.endm
# Two registers kept side by side: the stores are long past, so the load needn't wait for both.
.macro PAIR first, to
	movups .Lkept_\first(%rsp),%xmm0
	movups %xmm0,\to(%r10)
.endm

# To the record at r10. Clobbers rax, xmm0; \tail: and r11. What is in the slot then is a stub: its site knows who called.
.macro ARGUMENTS detail, tail
	.if \detail-1
	.irp n,0,1,2,3,4,5,6,7
	movq %xmm\n,ADA_DETAIL_CALL_BYTES+8*\n(%r10)
	.endr
	.endif
	mov 8+BELOW(%rsp),%rax
	.if \tail
	lea ada_stubs(%rip),%r11
	sub %r11,%rax
	shr $4,%rax			# ADA_STUB_BYTES
	shl $5,%rax			# SITE_BYTES
	lea ada_sites(%rip),%r11
	mov SITE_RETURN_ADDRESS(%r11,%rax),%rax
	.endif
	mov %rax,DETAIL_LR(%r10)
	mov %rbp,DETAIL_FP(%r10)
	mov %rdi,DETAIL_X(%r10)
	mov %rsi,DETAIL_X+8(%r10)
	PAIR rdx, DETAIL_X+16
	mov %r8,DETAIL_X+32(%r10)
	mov %r9,DETAIL_X+40(%r10)
	PAIR rax, DETAIL_X+48
.endm

# To the record at r11. Leaves rax = the first result.
.macro RESULTS
	mov (%rsp),%rax
	mov %rax,DETAIL_LR(%r11)
	mov %rbp,DETAIL_FP(%r11)
	mov %rsp,DETAIL_SP(%r11)
	mov .Lkept_rdx(%rsp),%rax
	mov %rax,DETAIL_X+8(%r11)
	movq %xmm0,DETAIL_X+16(%r11)
	movq %xmm1,DETAIL_X+24(%r11)
	mov .Lkept_rax(%rsp),%rax
	mov %rax,DETAIL_X(%r11)
.endm

# All of it lies within the section. The stack's bytes behind the slot, which is at \slot(%rsp), to the record at r10, \at bytes behind
# its beginning. What is plain is 128 bytes that lie in one page. Clobbers rax, r11, xmm0.
.macro STACK name, slot, at
	prefetchw DETAIL_AHEAD+128(%r10)
	prefetchw DETAIL_AHEAD+192(%r10)
	prefetchw DETAIL_AHEAD+256(%r10)
	mov ada_setup+SETUP_STACK(%rip),%rax
	lea \slot(%rsp),%r11d
	and $4095,%r11d
	lea 8(%r11,%rax),%r11d
	cmp $4096,%r11d
	ja .Lcrosses_\name
.Lcopy_\name:
	cmp $128,%eax
	jne .Lsome_\name
	.irp n,0,16,32,48,64,80,96,112
	movups \slot+8+\n(%rsp),%xmm0
	movups %xmm0,\at+\n(%r10)
	.endr
	jmp .Lcopied_\name
.Lsome_\name:
	sub $16,%eax
	jb .Lcopied_\name
	movups \slot+8(%rsp,%rax),%xmm0
	movups %xmm0,\at(%r10,%rax)
	jmp .Lsome_\name
.Lcrosses_\name:			# must be the thread's own stack, and go on there
	lea \slot+8(%rsp),%r11
	LEAN cmp, LEAN_STACK_LOW, r11
	jb .Lfull_\name
	add %rax,%r11
	LEAN cmp, LEAN_STACK_HIGH, r11
	jbe .Lcopy_\name
	jmp .Lfull_\name
.Lcopied_\name:
.endm

# The section of an entry: an event, its frame and its record. \tail: of a function that the innermost frame's has jumped to, in whose slot
# there is that one's stub; so they share the slot, and an exit closes both frames. In: r11 = the hook.
.macro CALL name, detail, tail
.Larm_\name:
	ARM \name
.Lstart_\name:
	ROOM rcx, r10, .Lfull_\name
	rdtsc
	shl $32,%rdx
	or %rdx,%rax
	mov %rax,EVENT_COUNTER(%rcx,%r10)
	prefetchw PREFETCH_AHEAD(%rcx,%r10)
	mov STATE_FRAMES(%rcx),%edx
	mov %rdx,EVENT_DEPTH(%rcx,%r10)	# and detail_seq
	LEAN add, LEAN_SHADOW, rdx	# the frame
	LEAN cmp, LEAN_SHADOW_END, rdx
	jae .Lfull_\name
	mov %rax,FRAME_COUNTER(%rdx)
	movl $ADA_EVENT_CALL,EVENT_KIND(%rcx,%r10)
	mov HOOK_FUNCTION_ID(%r11),%rax
	mov %rax,EVENT_FUNCTION_ID(%rcx,%r10)
	mov %r11,FRAME_HOOK(%rdx)
	.if \detail
	RECORD r10, rcx, .Lfull_\name
	.if \detail-1
	or ada_setup+SETUP_META_CALL(%rip),%rax
	.else
	or ada_setup+SETUP_META_CALL_PLAIN(%rip),%rax
	.endif
	mov %rax,DETAIL_META(%r10)
	mov FRAME_COUNTER(%rdx),%rax
	mov %rax,DETAIL_COUNTER(%r10)
	.endif
	mov STATE_FRAMES(%rcx),%eax
	mov %eax,FRAME_DEPTH(%rdx)
	lea 8+BELOW(%rsp),%rax
	mov %rax,FRAME_SLOT(%rdx)
	.if \detail
	mov %rax,DETAIL_SP(%r10)
	.endif
	sub FRAME_SLOT-ADA_FRAME_BYTES(%rdx),%rax
	.if \tail
	test $~ADA_FRAME_TAIL,%rax
	jnz .Lfull_\name
	lea 8+BELOW(%rsp),%rax
	sub FRAME_SLOT-ADA_TAIL_CALLS_MAX*ADA_FRAME_BYTES(%rdx),%rax
	test $~ADA_FRAME_TAIL,%rax
	jz .Lfull_\name		# a loop of tail calls: its older frames are closed now
	lea 8+BELOW-ADA_FRAME_TAIL(%rsp),%rax
	mov %rax,FRAME_SLOT(%rdx)
	.else
	cmp $-ADA_NEAR_BYTES,%rax	# as unsigned: 1 to ADA_NEAR_BYTES below
	jb .Lfull_\name
	.endif
	.if \detail
	ARGUMENTS \detail, \tail
	.if \detail-1
	STACK \name, 8+BELOW, ADA_DETAIL_CALL_BYTES+ADA_DETAIL_VECTOR_BYTES
	mov ada_setup+SETUP_COMMIT_CALL(%rip),%rax
	.else
	STACK \name, 8+BELOW, ADA_DETAIL_CALL_BYTES
	mov ada_setup+SETUP_COMMIT_CALL_PLAIN(%rip),%rax
	.endif
	add %rax,(%rcx)			# commit
	.else
	addq $STATE_PUSH,(%rcx)		# commit
	.endif
.Lend_\name:
.endm

# As ada_entry, or as ada_entry_below where BELOW is the red zone's bytes. Scratch: rax rcx rdx r10 r11 and the flags, of which the hook saves
# \saved. \known: a near stub has called this hook; it belongs to one caller, and leads to that caller's return stub by itself. \detail: 1
# with a record, 2 and with vector arguments; \arguments: which of its registers the hook doesn't save for the function (SCRATCH).
.macro ENTRY name, full, known, detail, arguments, saved:vararg
	.globl ada_\name
	.hidden ada_\name
	.type ada_\name,@function
	.p2align 6
ada_\name:
	.cfi_startproc
	.cfi_def_cfa rsp, 16+BELOW
	KEEP \saved
	.if \detail
	SCRATCH KEEP, \arguments
	movups %xmm0,.Lkept_xmm0(%rsp)
	.endif
	HOOK
	mov HOOK_NUMBER(%r11),%eax
	POLICY ADA_POLICY_NAMES_CALL, r10, .Lnamed_\name
	.ifeq \known
	mov 8+BELOW(%rsp),%rax
	mov HOOK_CACHE(%r11),%r10
	cmp %rax,SITE_RETURN_ADDRESS(%r10)
	jne .Lprobe_\name
.Lfound_\name:
	mov SITE_ENTRY(%r10),%rax
	mov %rax,NEXT(%rsp)
	.endif
	CALL \name, \detail, 0
	.if BELOW			# the slot takes where to go on: the stub's call makes it anew
	mov NEXT(%rsp),%rax
	mov %rax,8+BELOW(%rsp)
	.endif
.Ldone_\name:
	.if \detail
	movups .Lkept_xmm0(%rsp),%xmm0
	.endif
	BACK \saved
	ret

	.ifeq \known			# a caller that the cache word doesn't hold: as in entry.inc
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
	jne .Lprobe_next_\name
	lea LEAD+ADA_TRAMPOLINE_NO_STUB-ADA_TRAMPOLINE_RETURN(%r11),%rax
	cmp %rax,SITE_ENTRY(%r10)
	jne .Lfound_\name
	mov %rax,NEXT(%rsp)
	CALL \name\()_tail, \detail, 1
	.if BELOW
	addq $ADA_TRAMPOLINE_BELOW_NO_STUB-ADA_TRAMPOLINE_RETURN,(%rsp)
	.endif
	jmp .Ldone_\name
.Lprobe_next_\name:
	inc %ecx
	and $((1<<ADA_SITE_HASH_BITS)-1),%ecx
	jmp .Lprobe_here_\name
	.endif
.Lnamed_\name:
	testb $ADA_POLICY_MUTED,(%r10,%rax)
	jz .Lfull_\name
	.if \known			# past the jump to the return stub, and ...
	addq $ADA_NEAR_STUB_BODY-ADA_TRAMPOLINE_RETURN,(%rsp)
	.elseif BELOW			# ... not to one: the body itself
	addq $ADA_TRAMPOLINE_BELOW_NO_STUB-ADA_TRAMPOLINE_RETURN,(%rsp)
	.else
	lea ADA_TRAMPOLINE_NO_STUB-ADA_TRAMPOLINE_RETURN(%r11),%rax
	mov %rax,NEXT(%rsp)
	.endif
	jmp .Ldone_\name
.Lfull_\name:
	.ifeq \known
.Lfull_\name\()_tail:
	.endif
	BACK \saved
	.if \detail
	SCRATCH BACK, \arguments
	movups .Lkept_xmm0(%rsp),%xmm0
	.endif
	jmp \full
	DESCRIPTOR \name, \detail, 1
	.ifeq \known
	DESCRIPTOR \name\()_tail, \detail, 1
	.endif
	.cfi_endproc
	.size ada_\name,.-ada_\name
.endm
.macro ENTRIES detail, known, caller, full
	ENTRY \caller\()_lean_\detail, \full, \known, \detail, 4
	ENTRY \caller\()_lean_arguments_\detail, \full, \known, \detail, 2, rcx, rdx
	ENTRY \caller\()_lean_values_\detail, \full, \known, \detail, 1, rax, rcx, rdx
	ENTRY \caller\()_lean_rax_\detail, \full, \known, \detail, 3, rcx, rdx, r10, r11
	ENTRY \caller\()_lean_flags_\detail, \full, \known, \detail, 0, rax, rcx, rdx, r10, r11
.endm
	.set BELOW,0
	.irp detail,0,1,2
	ENTRIES \detail, 0, entry, ada_entry
	ENTRIES \detail, 1, known, ada_entry_near
	.endr
	.set BELOW,ADA_RED_ZONE_BYTES
	.if LEAD-ADA_TRAMPOLINE_LEAD
	.error "lead"
	.endif
	.irp detail,0,1,2
	ENTRIES \detail, 0, below, ada_entry_below
	.endr
	.set BELOW,0

# The return address is saved in the slot; but where the slot still holds what a stub has pushed (less than 4 * ADA_STUB_COUNT), in
# the site, as ada_exit says it. This rule is true on both sides of the store: some unwinders look up an instruction's predecessor.
#define LE32(number) (number)&255, (number)>>8&255, (number)>>16&255, (number)>>24&255
#define SLOT_OR_SITE(field) DW_CFA_expression, 16, 36, DW_OP_lit0+8, DW_OP_minus, DW_OP_dup, DW_OP_deref, DW_OP_dup, \
	DW_OP_const4u, LE32(4*ADA_STUB_COUNT), DW_OP_lt, DW_OP_bra, 4, 0, DW_OP_drop, DW_OP_skip, 18, 0, \
	DW_OP_swap, DW_OP_drop, DW_OP_lit0+3, DW_OP_shl, DW_OP_rip, DW_OP_const1s, -64, DW_OP_and, DW_OP_dup, \
	DW_OP_plus_uconst, field, DW_OP_deref_size, 4, DW_OP_plus, DW_OP_plus_uconst, field+4+SITE_RETURN_ADDRESS, DW_OP_plus

# The event of a return, and its record. In: rsi, r10 = the chunk and the event's place; r8 = behind the frame; rax = the time.
.macro RETURN name, detail
	mov %rax,EVENT_COUNTER(%rsi,%r10)
	mov FRAME_HOOK-ADA_FRAME_BYTES(%r8),%rdx
	mov HOOK_NUMBER(%rdx),%eax
	POLICY ADA_POLICY_RETURN, r11, .Lfull_\name
	mov HOOK_FUNCTION_ID(%rdx),%rax
	mov %rax,EVENT_FUNCTION_ID(%rsi,%r10)
	.if \detail
	mov EVENT_COUNTER(%rsi,%r10),%rdx
	RECORD r11, rsi, .Lfull_\name
	mov %rdx,DETAIL_COUNTER(%r11)
	or ada_setup+SETUP_META_RETURN(%rip),%rax
	mov %rax,DETAIL_META(%r11)
	.endif
	mov FRAME_DEPTH-ADA_FRAME_BYTES(%r8),%eax
	mov %rax,EVENT_DEPTH(%rsi,%r10)	# and detail_seq
	movl $ADA_EVENT_RETURN,EVENT_KIND(%rsi,%r10)
	.if \detail
	RESULTS
	sub %rsp,%rax			# the stack's bytes, too, where they hold the result, or all returns have them
	cmp ada_setup+SETUP_REACH(%rip),%rax
	ja .Lplain_\name
	mov %r11,%r10
	movzbl ada_setup+SETUP_META_RETURN_STACK+ADA_DETAIL_SIZE_SHIFT/8(%rip),%eax
	mov %al,DETAIL_META+ADA_DETAIL_SIZE_SHIFT/8(%r10)
	STACK \name, 0, ADA_DETAIL_RETURN_BYTES
	movups .Lkept_xmm0(%rsp),%xmm0
	mov ada_setup+SETUP_COMMIT_RETURN_STACK(%rip),%rax
	jmp .Lcommit_\name
.Lplain_\name:
	mov ada_setup+SETUP_COMMIT_RETURN(%rip),%rax
.Lcommit_\name:
	add %rax,(%rsi)			# commit
	.else
	addq $STATE_POP,(%rsi)		# commit
	.endif
.endm

# From a stub, as ada_exit. Scratch: rsi r8 r10 r11 and the flags, of which the hook saves \first and \saved. Results are saved
# always. \field: offset of what leads to ada_sites. \detail: with a record.
.macro EXIT name, field, detail, first, saved:vararg
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
	.if \first
	KEEP rsi, r11
	.endif
	mov (%rsp),%esi			# what ada_region_pass() overwrites has more bytes than two
	lea ada_sites(%rip),%r11
	.if .-ada_\name-4-\field
	.error "field"
	.endif
	mov SITE_RETURN_ADDRESS(%r11,%rsi,8),%rsi
	mov %rsi,(%rsp)			# from here on the unwinder sees an ordinary frame
	.cfi_offset rip,-8
	KEEP \saved
	.if \detail
	movups %xmm0,.Lkept_xmm0(%rsp)
	.endif
.Larm_\name:
	ARM \name
.Lstart_\name:
	ROOM rsi, r10, .Lfull_\name
	rdtsc				# before all else: on some CPUs it waits for what is under way
	shl $32,%rdx
	or %rdx,%rax
	mov STATE_FRAMES(%rsi),%r8d
	LEAN add, LEAN_SHADOW, r8	# behind the innermost frame
	cmp %rsp,FRAME_SLOT-ADA_FRAME_BYTES(%r8)
	jz .Lown_\name			# as a rule, but for a frame that shares its slot with the one before
	lea -ADA_FRAME_TAIL(%rsp),%rdx
	cmp %rdx,FRAME_SLOT-ADA_FRAME_BYTES(%r8)
	jne .Lfull_\name
	RETURN \name\()_tail, \detail
	jmp .Larm_\name		# closes the next one. Within the section: aborted behind the commit, the hook does that, too
.Lown_\name:
	RETURN \name, \detail
.Lend_\name:
	BACK \saved
	.if \first
	BACK rsi, r11
	.endif
	ret
.Lfull_\name:				# the slot is as a return finds it
.Lfull_\name\()_tail:
	BACK \saved
	.if \detail
	movups .Lkept_xmm0(%rsp),%xmm0
	.endif
	.if \first
	BACK rsi, r11
	.endif
	jmp ada_exit_known
	DESCRIPTOR \name, \detail, 0
	.cfi_endproc
	.size ada_\name,.-ada_\name
.endm
	EXIT exit_lean_0, 6, 0, 0, rax, rdx
	EXIT exit_lean_flags_0, 16, 0, 1, rax, rdx, r8, r10
	EXIT exit_lean_1, 6, 1, 0, rax, rdx
	EXIT exit_lean_flags_1, 16, 1, 1, rax, rdx, r8, r10
	.globl ada_lean_end
	.hidden ada_lean_end
ada_lean_end:
	LIST_MARK bound_lean, bound_lean_end
	LIST_MARK bound_rseq, bound_rseq_end
	.section .note.GNU-stack,"",@progbits
