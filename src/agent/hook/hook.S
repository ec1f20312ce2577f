# The hot path: what runs at each call and each return of a hooked function.
#
# Budget: 72 instructions at entry and 67 at exit (22 of each save and restore), no locked one, no call. With detail 60
# more at entry and 43 at exit, and four for each 16 bytes of the stack.
#
# Rules
#  1. Every register that is touched is put back: rax rcx rdx rsi r10 r11 and the flags; with detail xmm0 too. A caller
#     built with -fipa-ra may keep a value in any register that its callee leaves alone.
#  2. An event is one critical section of rseq: everything is written first, then one store of the commit word makes the
#     event, its frame and its detail valid together. A signal or preemption in between restarts the section, with a new
#     time stamp. So nothing is lost or doubled, and time never falls within a thread.
#  3. Nothing within a critical section changes a register that its start needs: rcx (the hook, entry only), r11, rsp; an
#     abort puts xmm0 back. A branch out of the section gives the event up, and comes before xmm0 is touched.
#  4. Whatever isn't plain goes to one C function a direction, which does the whole event: ada_entry_slow, ada_exit_slow.
#     A thread that reads as zero (its process is the child of a fork) takes that way before anything is written.
#  5. Control flow never depends on the shadow stack.
#
# How a call runs
#
#    caller: call f        slot = [rsp] = return address RA
#    f: jmp trampoline
#    trampoline: call *hook.entry; lea 8(%rsp),%rsp; jmp *-24(%rsp)
#    ada_entry: finds the site of (RA, f), writes event and frame, commits, returns
#    stub: call *site.target        pushes the stub's return point where RA was; own site of jump, so well predicted
#    f's body ... ret               matches the return predictor
#    stub: push $i; jmp ada_exit    writes the event, puts RA in the slot, ret: matches the predictor again
#
# A vfork child runs on its parent's thread and, for the kernel, without rseq: a signal handler that it takes in the midst
# of an event may overwrite this one event.
#include "offsets.h"
#include "event.inc"

	.hidden ada_setup, ada_site_hash, ada_sites, ada_stubs, ada_self, ada_entry_slow, ada_exit_slow, ada_event_named

# What SAVE leaves on the stack, from rsp up: flags, rsi, r11, r10, rdx, rcx, rax, and then
#define SAVED_FLAGS 0			/* as lahf and seto say them: ah, al */
#define SAVED_RSI 8
#define SAVED_R11 16
#define SAVED_R10 24
#define SAVED_RDX 32
#define SAVED_RCX 40
#define SAVED_RAX 48
#define ENTRY_NEXT 56			/* where the trampoline jumps afterwards */
#define ENTRY_HOOK 64			/* return address into the trampoline */
#define ENTRY_SLOT (72+ENTRY_BELOW)	/* the function's return slot */
#define EXIT_SITE 56			/* what the stub has pushed: an eighth of its site's offset in ada_sites */
#define EXIT_SLOT 64
#define EXIT_SITES_FIELD 23		/* offset in ada_exit of what leads to ada_sites */

.macro SAVE_ONE register
	push %\register
	.cfi_adjust_cfa_offset 8
.endm
.macro LOAD_ONE register
	pop %\register
	.cfi_adjust_cfa_offset -8
.endm

.macro SAVE
	SAVE_ONE rax
	SAVE_ONE rcx
	SAVE_ONE rdx
	SAVE_ONE r10
	SAVE_ONE r11
	SAVE_ONE rsi
	lahf				# ah = SF ZF AF PF CF; pushf and popf cost 20 ns more
	seto %al			# and OF
	SAVE_ONE rax
.endm
.macro RESTORE
	LOAD_ONE rax
	add $0x7f,%al			# overflows where seto stored 1
	sahf
	LOAD_ONE rsi
	LOAD_ONE r11
	LOAD_ONE r10
	LOAD_ONE rdx
	LOAD_ONE rcx
	LOAD_ONE rax
.endm

# r11 = this thread, or one that is all zero before its first event
.macro LOAD_THREAD
	mov ada_self@gottpoff(%rip),%r11
	mov %fs:(%r11),%r11
.endm

# SLOW_BEGIN, then the arguments, then SLOW_CALL: a call of a C function (built for general registers only). Between the two,
# ENTRY_* and EXIT_* hold from rbp. Result in rax; rcx, rdx, rsi, r10, r11 are lost. \slot: ENTRY_SLOT or EXIT_SLOT.
.macro SLOW_BEGIN slot
	.cfi_remember_state
	SAVE_ONE rdi
	SAVE_ONE r8
	SAVE_ONE r9
	SAVE_ONE rbp
	.cfi_rel_offset rbp,0
	lea 32(%rsp),%rbp		# rsp as SAVE left it
	.cfi_def_cfa rbp,\slot+8
.endm
.macro SLOW_CALL function, slot
	and $-16,%rsp
	cld
	call \function
	lea -32(%rbp),%rsp
	.cfi_def_cfa rsp,\slot+40
	LOAD_ONE rbp
	.cfi_restore rbp
	LOAD_ONE r9
	LOAD_ONE r8
	LOAD_ONE rdi
	.cfi_restore_state
.endm

# --debug-poison: garbage for the registers of the set ecx (enum ada_register), as RESTORE will put them back. \flags are inverted, as
# lahf and seto give them: entry and exit invert different ones, so that the second doesn't put the flags right.
.macro POISON_ONE register, saved
	test $1<<\register,%ecx
	jz .Lkept\@
	mov %rax,\saved
.Lkept\@:
.endm
.macro POISON flags
	movabs $0xdead0000dead0001,%rax
	POISON_ONE ADA_REGISTER_RAX, SAVED_RAX(%rsp)
	POISON_ONE ADA_REGISTER_RCX, SAVED_RCX(%rsp)
	POISON_ONE ADA_REGISTER_RDX, SAVED_RDX(%rsp)
	POISON_ONE ADA_REGISTER_RSI, SAVED_RSI(%rsp)
	POISON_ONE ADA_REGISTER_RDI, %rdi
	POISON_ONE ADA_REGISTER_R8, %r8
	POISON_ONE ADA_REGISTER_R9, %r9
	POISON_ONE ADA_REGISTER_R10, SAVED_R10(%rsp)
	POISON_ONE ADA_REGISTER_R11, SAVED_R11(%rsp)
	test $1<<ADA_REGISTER_FLAGS,%ecx
	jz .Lflags\@
	xorw $\flags,SAVED_FLAGS(%rsp)
.Lflags\@:
.endm

#include "detail.inc"

# Tells the kernel where the critical section \name begins and ends. Clobbers rax, rdx.
.macro RSEQ_ARM name, lane
.Larm_\name:
	lea .Lcs_\name(%rip),%rax
	mov ada_setup+SETUP_RSEQ_OFFSET(%rip),%rdx	# not through r11: waiting for that load costs 1.5 ns in busy code
	mov %rax,%fs:RSEQ_CS(%rdx)
.endm
.macro RSEQ_DESCRIPTOR name, lane, slow
	RSEQ_SECTION \name
	PUT_XMM0_BACK \lane
	pushf				# a program that single-steps itself would come here at each instruction, for ever:
	.cfi_adjust_cfa_offset 8
	btl $8,(%rsp)			# the trap flag
	lea 8(%rsp),%rsp
	.cfi_adjust_cfa_offset -8
	jc \slow			# it goes on unrecorded
	jmp .Larm_\name
.endm

# Branches to \named where the policy asks for function number rax. Clobbers rdx.
.macro POLICY_TEST flag, named
	mov ada_setup+SETUP_POLICY(%rip),%rdx
	add (%rdx),%rdx
	testb $\flag,(%rdx,%rax)
	jnz \named
.endm

# Records a call, or goes to \slow. In: rcx = where the hook is reckoned from (HOOK_*). \check: the slot must lie a little below the
# innermost frame's; else to \anomaly with rax = slot - innermost slot, rsi = the new frame. Not \check: it is a tail call.
# \lane: `plain`, no process-wide detail lane; `detail`, the process has one; `any` is for what is rare, and also fills the struct
# ada_judged.
.macro ENTRY_EVENT name, lane, slow, check, anomaly
	KEEP_XMM0 \lane
	RSEQ_ARM \name, \lane
.Lstart_\name:
	mov THREAD_INDEX(%r11),%r10
	test %r10,%r10
	jz \slow			# before rdtsc: the thread may be one that must not read it
	movzwl (%r10),%esi		# of the commit word
	cmp $ADA_CHUNK_BYTES,%esi
	jae \slow
	rdtsc
	shl $32,%rdx
	or %rdx,%rax
	lea (%r10,%rsi),%rdx		# the event
	prefetchw PREFETCH_AHEAD(%rdx)
	mov STATE_FRAMES(%r10),%esi
	mov %rsi,EVENT_DEPTH(%rdx)	# and detail_seq
	add THREAD_SHADOW(%r11),%rsi	# the frame
	cmp THREAD_SHADOW_END(%r11),%rsi
	jae \slow
	mov %rax,EVENT_COUNTER(%rdx)
	mov %rax,FRAME_COUNTER(%rsi)
	mov STATE_FRAMES(%r10),%eax
	mov %eax,FRAME_DEPTH(%rsi)
	movl $ADA_EVENT_CALL,EVENT_KIND(%rdx)
	mov HOOK_FUNCTION_ID(%rcx),%rax
	mov %rax,EVENT_FUNCTION_ID(%rdx)
	mov %rcx,FRAME_HOOK(%rsi)
	.if \check
	lea ENTRY_SLOT(%rsp),%rax
	mov %rax,FRAME_SLOT(%rsi)
	sub FRAME_SLOT-ADA_FRAME_BYTES(%rsi),%rax
	cmp $-ADA_NEAR_BYTES,%rax	# as unsigned: 1 to ADA_NEAR_BYTES below
	jb \anomaly
	.else
	lea ENTRY_SLOT-ADA_FRAME_TAIL(%rsp),%rax
	mov %rax,FRAME_SLOT(%rsi)
	.endif
	.ifc \lane,any
	JUDGED_FILL r10, ENTRY_SLOT, 1-\check, ADA_EVENT_CALL, 0
	movzwl (%r10),%edx
	add %r10,%rdx
	.endif
	.ifnc \lane,plain
	mov THREAD_DETAIL(%r11),%rax
	test %rax,%rax
	jz .Lnone_\name
	mov EVENT_COUNTER(%rdx),%rsi
	DETAIL_AT r10, \slow
	mov HOOK_FUNCTION_ID(%rcx),%rax
	DETAIL_COMMON ENTRY_SLOT, 1-\check, SETUP_META_CALL
	DETAIL_ARGUMENTS
	DETAIL_SNAPSHOT ENTRY_SLOT, ADA_DETAIL_CALL_BYTES+ADA_DETAIL_VECTOR_BYTES
	DETAIL_STEP STATE_PUSH
	jmp .Lcommit_\name
.Lnone_\name:
	movl $ADA_NO_DETAIL,EVENT_DETAIL_SEQ(%rdx)
	mov $STATE_PUSH,%eax
.Lcommit_\name:
	add %rax,(%r10)
	.else
	addq $STATE_PUSH,(%r10)		# commit
	.endif
.Lend_\name:
	PUT_XMM0_BACK \lane
.endm

# Records a return, or goes to .Lexit_slow or (unless \lane is `any`) to .Lexit_named. Leaves rsi = behind the frame that was closed.
.macro EXIT_EVENT name, lane
	KEEP_XMM0 \lane
	RSEQ_ARM \name, \lane
.Lstart_\name:
	mov THREAD_INDEX(%r11),%rcx
	test %rcx,%rcx
	jz .Lexit_slow			# before rdtsc: the thread may be one that must not read it
	movzwl (%rcx),%r10d		# of the commit word
	cmp $ADA_CHUNK_BYTES,%r10d
	jae .Lexit_slow
	rdtsc				# before all else: on some CPUs it waits for what is under way
	shl $32,%rdx
	or %rdx,%rax
	add %rcx,%r10			# the event
	mov STATE_FRAMES(%rcx),%esi
	add THREAD_SHADOW(%r11),%rsi	# behind the innermost frame
	lea EXIT_SLOT(%rsp),%rdx
	sub FRAME_SLOT-ADA_FRAME_BYTES(%rsi),%rdx
	test $~ADA_FRAME_TAIL,%rdx
	jnz .Lexit_slow
	mov %rax,EVENT_COUNTER(%r10)
	mov FRAME_HOOK-ADA_FRAME_BYTES(%rsi),%rdx
	mov HOOK_FUNCTION_ID(%rdx),%rax
	mov %rax,EVENT_FUNCTION_ID(%r10)
	.ifnc \lane,any
	mov HOOK_NUMBER(%rdx),%eax
	POLICY_TEST ADA_POLICY_RETURN, .Lexit_named
	.endif
	mov FRAME_DEPTH-ADA_FRAME_BYTES(%rsi),%eax
	mov %rax,EVENT_DEPTH(%r10)	# and detail_seq
	movl $ADA_EVENT_RETURN,EVENT_KIND(%r10)
	.ifc \lane,any
	JUDGED_FILL rcx, EXIT_SLOT, 0, ADA_EVENT_RETURN, -ADA_FRAME_BYTES
	.endif
	.ifnc \lane,plain
	mov THREAD_DETAIL(%r11),%rax
	test %rax,%rax
	jz .Lnone_\name
	DETAIL_AT rcx, .Lexit_slow
	mov EVENT_COUNTER(%r10),%rsi
	mov EVENT_FUNCTION_ID(%r10),%rax
	DETAIL_COMMON EXIT_SLOT, 0, SETUP_META_RETURN
	DETAIL_RESULTS
	DETAIL_REACH EXIT_SLOT, .Lwritten_\name
	DETAIL_SNAPSHOT EXIT_SLOT, ADA_DETAIL_RETURN_BYTES
.Lwritten_\name:
	mov STATE_FRAMES(%rcx),%esi
	add THREAD_SHADOW(%r11),%rsi
	DETAIL_STEP STATE_POP
	jmp .Lcommit_\name
.Lnone_\name:
	movl $ADA_NO_DETAIL,EVENT_DETAIL_SEQ(%r10)
	mov $STATE_POP,%rax
.Lcommit_\name:
	add %rax,(%rcx)
	.else
	addq $STATE_POP,(%rcx)		# commit
	.endif
.Lend_\name:
	PUT_XMM0_BACK \lane
.endm

	.text
# As a function is called: the slot is where the stack pointer was.
#define ENTRY(name) ada_entry##name
#define EVENT(name) entry_##name
#define LABEL(name) .Lentry_##name
	.set ENTRY_BELOW,0
	.set ENTRY_LEAD,0
	.set ENTRY_NEAR,0
#include "entry.inc"
#undef ENTRY
#undef EVENT
#undef LABEL
# By a near stub (trampoline.c): it knows the caller, or is told of it.
#define ENTRY(name) ada_entry_near##name
#define EVENT(name) near_##name
#define LABEL(name) .Lnear_##name
	.set ENTRY_NEAR,1
#include "entry.inc"
#undef ENTRY
#undef EVENT
#undef LABEL
# Code that jumps reach may be part of a leaf with a red zone; its trampoline has left the red zone alone.
#define ENTRY(name) ada_entry_below##name
#define EVENT(name) below_##name
#define LABEL(name) .Lbelow_##name
	.set ENTRY_NEAR,0
	.set ENTRY_BELOW,ADA_RED_ZONE_BYTES
	.set ENTRY_LEAD,ADA_TRAMPOLINE_LEAD
#include "entry.inc"

# Instead of ada_entry and ada_entry_below where nothing of the thread's may be touched: the program has moved its FS base
# (trampoline.c). The body is entered without an exit stub. No flag is changed.
	.globl ada_pass, ada_pass_below, ada_pass_near
	.hidden ada_pass, ada_pass_below, ada_pass_near
	.type ada_pass,@function
	.type ada_pass_near,@function
	.type ada_pass_below,@function
ada_pass:
	.cfi_startproc
	.cfi_def_cfa rsp, 16
	lea -8(%rsp),%rsp		# ENTRY_NEXT
	.cfi_adjust_cfa_offset 8
	SAVE_ONE rax
	mov 16(%rsp),%rax
	lea ADA_TRAMPOLINE_NO_STUB-ADA_TRAMPOLINE_RETURN(%rax),%rax
	mov %rax,8(%rsp)
	LOAD_ONE rax
	lea 8(%rsp),%rsp
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size ada_pass,.-ada_pass
ada_pass_below:
	.cfi_startproc
	.cfi_def_cfa rsp, 16+ADA_RED_ZONE_BYTES
	SAVE_ONE rax
	mov 8(%rsp),%rax
	lea ADA_TRAMPOLINE_BELOW_NO_STUB-ADA_TRAMPOLINE_RETURN(%rax),%rax
	mov %rax,8(%rsp)
	LOAD_ONE rax
	ret
	.cfi_endproc
	.size ada_pass_below,.-ada_pass_below
ada_pass_near:				# goes on by hook.stub, which leads to the body by now
	.cfi_startproc
	.cfi_def_cfa rsp, 16
	ret
	.cfi_endproc
	.size ada_pass_near,.-ada_pass_near
# Runs instead of ada_exit, which then begins with a jump to here. That jump reaches no further than this.
	.p2align 6
	.globl ada_pass_exit
	.hidden ada_pass_exit
	.type ada_pass_exit,@function
ada_pass_exit:
	push %rax
	push %rcx
	mov 16(%rsp),%ecx
	lea ada_sites(%rip),%rax
	mov SITE_RETURN_ADDRESS(%rax,%rcx,8),%rax
	mov %rax,16(%rsp)
	pop %rcx
	pop %rax
	ret
	.size ada_pass_exit,.-ada_pass_exit

# From a stub: [rsp] = what it has pushed into the function's return slot (stubs.S).
	.globl ada_exit
	.hidden ada_exit
	.type ada_exit,@function
	.p2align 6
ada_exit:
	.cfi_startproc
	.cfi_def_cfa rsp, 8
	# Return address saved at: ada_sites + 8 * what is in the slot, where ada_sites = the place that the lea below
	# means, whose field is in the same 64 bytes of code as all the instructions that this is for.
	.cfi_escape 0x10,16,20, 0x38,0x1c, 0x94,4, 0x33,0x24, 0x80,0, 0x09,0xc0, 0x1a, 0x12, 0x23,EXIT_SITES_FIELD, 0x94,4
	.cfi_escape 0x22, 0x23,EXIT_SITES_FIELD+4+SITE_RETURN_ADDRESS, 0x22
	push (%rsp)			# EXIT_SITE
	.cfi_adjust_cfa_offset 8
	# The same, from EXIT_SITE: unwinders that look up an interrupted instruction's predecessor (LLVM's until 16) still
	# come here when the slot holds the return address.
	.cfi_escape 0x10,16,20, 0x40,0x1c, 0x94,4, 0x33,0x24, 0x80,0, 0x09,0xc0, 0x1a, 0x12, 0x23,EXIT_SITES_FIELD, 0x94,4
	.cfi_escape 0x22, 0x23,EXIT_SITES_FIELD+4+SITE_RETURN_ADDRESS, 0x22
	SAVE
	mov EXIT_SITE(%rsp),%ecx
	lea ada_sites(%rip),%rax
	.if .-ada_exit-4-EXIT_SITES_FIELD
	.error "EXIT_SITES_FIELD"
	.endif
	mov SITE_RETURN_ADDRESS(%rax,%rcx,8),%rax
	mov %rax,EXIT_SLOT(%rsp)	# from here on the unwinder sees an ordinary frame
	.cfi_offset rip,-8
	LOAD_THREAD
.Lexit_again:
	cmpq $0,ada_setup+SETUP_LIMIT(%rip)
	jne .Lexit_detail
	EXIT_EVENT exit, plain
.Lexit_recorded:
	lea EXIT_SLOT(%rsp),%rax
	sub FRAME_SLOT-2*ADA_FRAME_BYTES(%rsi),%rax
	cmp $ADA_FRAME_MARKS,%rax
	jbe .Lexit_again		# this slot's next frame: it tail-called the one just closed
.Lexit_done:
	cmpq $0,ada_setup+SETUP_POISON(%rip)
	jne .Lexit_poison
.Lexit_poisoned:
	RESTORE
	lea 8(%rsp),%rsp
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_adjust_cfa_offset 64
.Lexit_detail:
	EXIT_EVENT exit_detail, detail
	jmp .Lexit_recorded
.Lexit_named:				# by a rule of the policy
	EXIT_EVENT exit_named, any
	JUDGE EXIT_SLOT
	LOAD_THREAD
	mov THREAD_INDEX(%r11),%rsi
	test %rsi,%rsi
	jz .Lexit_done
	mov STATE_FRAMES(%rsi),%esi
	add THREAD_SHADOW(%r11),%rsi
	add $ADA_FRAME_BYTES,%rsi	# behind the frame, as EXIT_EVENT leaves it
	jmp .Lexit_recorded
.Lexit_slow:				# void ada_exit_slow(slot, registers): no room, or the innermost frame isn't this slot's
	SLOW_BEGIN EXIT_SLOT
	lea EXIT_SLOT(%rbp),%rdi
	lea -32(%rbp),%rsi
	SLOW_CALL ada_exit_slow, EXIT_SLOT
	jmp .Lexit_done
.Lexit_poison:
	mov EXIT_SITE(%rsp),%ecx
	lea ada_sites(%rip),%rax
	test %ecx,%ecx
	jz .Lexit_poisoned
	mov SITE_TARGET(%rax,%rcx,8),%rcx
	and $-ADA_TRAMPOLINE_BYTES,%rcx	# the trampoline's first cell: its body begins there
	mov CELL_FREE(%rcx),%ecx
	shr $ADA_REGISTER_COUNT,%ecx	# ada_hook.free_at_exit
	POISON 0x5400
	jmp .Lexit_poisoned
	RSEQ_DESCRIPTOR exit, plain, .Lexit_slow
	RSEQ_DESCRIPTOR exit_detail, detail, .Lexit_slow
	RSEQ_DESCRIPTOR exit_named, any, .Lexit_slow
	.cfi_endproc
	.size ada_exit,.-ada_exit

# From an exit hook that gives up (lean.S): the return address is in the slot, where rsp is, and the stub is not known.
	.globl ada_exit_known
	.hidden ada_exit_known
	.type ada_exit_known,@function
ada_exit_known:
	.cfi_startproc
	.cfi_def_cfa rsp, 8
	lea -8(%rsp),%rsp		# EXIT_SITE: stub 0 belongs to no one
	.cfi_adjust_cfa_offset 8
	movq $0,(%rsp)
	SAVE
	LOAD_THREAD
	jmp .Lexit_again
	.cfi_endproc
	.size ada_exit_known,.-ada_exit_known
	.section .note.GNU-stack,"",@progbits
