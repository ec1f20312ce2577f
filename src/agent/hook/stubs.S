# Interned return stubs: stub i belongs to ada_sites[i], a (return address, function) pair.
#
#   stub:      call *ada_sites[i].target(%rip)    6   the body; pushes the stub's return point
#              push $4*i                          5   <- return point: the body has returned. An eighth of the site's offset
#              jmp ada_exit                       5     or to the exit hook of its class (layout.h)
#
# The trampoline jumps to the stub with rsp = slot + 8, so the call rebuilds the return slot in place and
# the CPU's return predictor knows both returns. Every stub has its own indirect call, so it is
# monomorphic. All stubs are one function for the unwinder, with one FDE.
#
# What unwinders are told, in four ways (find_object.c says who gets which). A stub has no frame of its own, so its CFA is its
# caller's. This file's .eh_frame says so: that is for whoever reads it from the disk (gdb, perf), and has no personality.
#
# libgcc knows the handler's frame by CFA, and would take the stub for that frame where the caller is the handler. So we tell libgcc a CFA
# one byte higher, and a separate rule for the stack pointer says the truth. nongnu libunwind takes the CFA for the stack pointer,
# whatever such a rule says, and knows the handler by its address: so we tell it the truth. LLVM's knows the handler's frame by stack
# pointer, which can't differ: personality and landing pad handle that (unwind.c), or there is no personality.
#include "offsets.h"
#include "dwarf.inc"

# CFA = rsp + 8 * ((rip & 15) >= 11): behind the push the return slot is below the stack pointer's value in the caller. The
# linker describes .plt in the same way, so every unwinder knows it.
#define STUB_CFA_TERMS DW_OP_rsp, DW_OP_rip, DW_OP_lit0+15, DW_OP_and, DW_OP_lit0+11, DW_OP_ge, DW_OP_lit0+3, DW_OP_shl, DW_OP_plus
#define STUB_CFA DW_CFA_def_cfa_expression, 11, STUB_CFA_TERMS
#define STUB_CFA_RAISED DW_CFA_def_cfa_expression, 13, STUB_CFA_TERMS, DW_OP_plus_uconst, 1
# Stack pointer in the caller = CFA - 1
#define STUB_RSP_RAISED DW_CFA_val_expression, 7, 2, DW_OP_lit0+1, DW_OP_minus
# Where the site has the return address: stub + 6 + disp32 of the call + 8, where stub = rip & -16. From rip and not from the
# slot, so that it holds for all three instructions; and for the stub's start in place of its return point, which the slot holds
# for a moment where a red zone is left alone (trampoline.c).
#define STUB_SITE_TERMS DW_OP_rip, DW_OP_const1s, -16, DW_OP_and, DW_OP_dup, DW_OP_plus_uconst, 2, DW_OP_deref_size, 4, \
	DW_OP_plus, DW_OP_plus_uconst, 6+SITE_RETURN_ADDRESS
#define STUB_RETURN_ADDRESS DW_CFA_val_expression, 16, 14, STUB_SITE_TERMS, DW_OP_deref
# nongnu libunwind has no value without a place, and writes there where it goes on behind a call that it ended. The slot is such
# a place from when it holds the return address (ada_personality_plain, step.c); till then the site, which must not change.
#define STUB_RETURN_PLACE DW_CFA_expression, 16, 27, STUB_SITE_TERMS, DW_OP_dup, DW_OP_deref, DW_OP_pick, 2, DW_OP_lit0+8, \
	DW_OP_minus, DW_OP_dup, DW_OP_rot, DW_OP_deref, DW_OP_eq, DW_OP_bra, 1, 0, DW_OP_drop

	.text
	.p2align 12
	.globl ada_stubs
	.hidden ada_stubs, ada_sites, ada_exit, ada_exit_lean_0, ada_exit_lean_flags_0, ada_unwound_slow
	.type ada_stubs,@function
ada_stubs:
	.cfi_startproc
	.cfi_escape STUB_CFA
	.cfi_escape STUB_RETURN_ADDRESS
	.set i,0
	.macro STUBS count, hook
	.rept \count
	call *ada_sites+SITE_BYTES*i+SITE_TARGET(%rip)
	.byte 0x68			# push imm32, never the short form
	.long SITE_BYTES/8*i
	.byte 0xe9			# jmp rel32, never the short form
	.long \hook-.-4
	.set i,i+1
	.endr
	.endm
	STUBS ADA_STUB_SAVING, ada_exit
	STUBS ADA_STUB_FLAGS, ada_exit_lean_flags_0
	STUBS ADA_STUB_LEAN, ada_exit_lean_0
	.cfi_endproc
	.size ada_stubs,.-ada_stubs

# Landing pad of a stub frame under an unwinder that knows frames by stack pointer (unwind.c).
# rax = exception, rdx = the stub's return point, rsp = slot + 8.
	.globl ada_landing
	.hidden ada_landing
	.type ada_landing,@function
ada_landing:
	movslq -(ADA_STUB_RETURN-2)(%rdx),%rcx	# disp32 of the stub's call
	push SITE_RETURN_ADDRESS-SITE_TARGET(%rdx,%rcx)	# the slot again: _Unwind_Resume sees the real caller
	push %rax
	lea 8(%rsp),%rdi
	push %rbp
	mov %rsp,%rbp
	and $-16,%rsp
	call ada_unwound_slow
	mov %rbp,%rsp
	pop %rbp
	pop %rdi
	jmp *_Unwind_Resume@GOTPCREL(%rip)
	.size ada_landing,.-ada_landing
	.weak _Unwind_Resume

# As an .eh_frame_hdr without table: a CIE and an FDE for all stubs. \second: bytes of a second personality, which is none. Of
# augmentation zRPxP libgcc stops at the x, a letter that it doesn't know; LLVM's passes over it, and takes the second.
.macro STUB_FRAMES name, augmentation, second, personality, rules:vararg
	.globl \name
	.hidden \name
	.type \name,@object
\name:
	.byte 1, DW_EH_PE_pcrel_sdata4, DW_EH_PE_omit, DW_EH_PE_omit
	.long .Lcie\@-.
.Lcie\@:
	.long .Lcie_end\@-.-4
	.long 0
	.byte 1
	.asciz "\augmentation"
	.uleb128 1
	.sleb128 -8
	.byte 16
	.uleb128 6+\second
	.byte DW_EH_PE_pcrel_sdata4	# of addresses
	.byte DW_EH_PE_indirect+DW_EH_PE_pcrel_sdata4
	.long \personality-.
	.if \second
	.skip \second
	.endif
	.p2align 3
.Lcie_end\@:
\name\()_fde:
	.long .Lend\@-.-4
	.long .-.Lcie\@
	.long ada_stubs-., ADA_STUB_COUNT*ADA_STUB_BYTES
	.uleb128 0
	.byte \rules
	.p2align 3
.Lend\@:
	.long 0
	.size \name,.-\name
.endm
	.section .rodata
	.p2align 3
	STUB_FRAMES ada_stub_frames_guarded, zRPxP, 9, .Lpersonality, STUB_CFA_RAISED, STUB_RSP_RAISED, STUB_RETURN_ADDRESS
	STUB_FRAMES ada_stub_frames_raised, zRP, 0, .Lpersonality, STUB_CFA_RAISED, STUB_RSP_RAISED, STUB_RETURN_ADDRESS
	STUB_FRAMES ada_stub_frames_plain, zRP, 0, .Lpersonality_plain, STUB_CFA, STUB_RETURN_PLACE
	.globl ada_stub_frames_guarded_fde
	.hidden ada_stub_frames_guarded_fde

	.hidden ada_personality, ada_personality_plain
	.section .data.rel.local,"aw",@progbits
	.p2align 3
.Lpersonality:
	.quad ada_personality
.Lpersonality_plain:
	.quad ada_personality_plain

	.section .note.GNU-stack,"",@progbits
