# Interned return stubs: stub i belongs to ada_sites[i], a (return address, function) pair.
#
#   stub:      call *ada_sites[i].target(%rip)    6   the body; pushes the stub's return point
#              push $i                            5   <- return point: the body has returned
#              jmp ada_exit                       5
#
# The trampoline jumps to the stub with rsp = slot + 8, so the call rebuilds the return slot in place and
# the CPU's return predictor knows both returns. Every stub has its own indirect call, so it is
# monomorphic. All stubs are one function for the unwinder, with one FDE.
#
# A stub has no frame of its own: its CFA would be its caller's, and libgcc, which knows the handler's frame by CFA, would
# take the stub for it. So the CFI says a CFA one byte higher, and a rule of its own for the stack pointer says the truth.
#include "offsets.h"
	.text
	.p2align 12
	.globl ada_stubs
	.hidden ada_stubs, ada_sites, ada_exit, ada_personality, ada_unwound_slow
	.type ada_stubs,@function
ada_stubs:
	.cfi_startproc
	.cfi_personality 0x9b, DW.ref.ada_personality
	# CFA = rsp + 8 * ((rip & 15) >= 11) + 1: behind the push the return slot is below the stack pointer's
	# value in the caller. The linker describes .plt in the same way, so every unwinder knows it.
	.cfi_escape 0x0f,13, 0x77,0, 0x80,0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22, 0x23,1
	# Stack pointer in the caller = CFA - 1
	.cfi_escape 0x16,7,2, 0x31, 0x1c
	# Return address saved at: stub + 6 + disp32 of the call + 8, where stub = rip & -16. From rip and not
	# from the slot, so that it holds for all three instructions; and for the stub's start in place of its return
	# point, which the slot holds for a moment where a red zone is left alone (trampoline.c).
	.cfi_escape 0x10,16,13, 0x80,0, 0x09,0xf0, 0x1a, 0x12, 0x23,2, 0x94,4, 0x22, 0x23,6+SITE_RETURN_ADDRESS
	.set i,0
	.rept ADA_STUB_COUNT
	call *ada_sites+SITE_BYTES*i+SITE_TARGET(%rip)
	.byte 0x68			# push imm32, never the short form
	.long i
	.byte 0xe9			# jmp rel32, never the short form
	.long ada_exit-.-4
	.set i,i+1
	.endr
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

	.hidden DW.ref.ada_personality
	.weak DW.ref.ada_personality
	.section .data.rel.local.DW.ref.ada_personality,"awG",@progbits,DW.ref.ada_personality,comdat
	.p2align 3
	.type DW.ref.ada_personality,@object
	.size DW.ref.ada_personality,8
DW.ref.ada_personality:
	.quad ada_personality

	.section .note.GNU-stack,"",@progbits
