# What an unwinder is told of trampolines and bodies (trampoline.c): see find_object.c for how it comes to ask.
#
# A trampoline has no frame of its own. To an unwinder it is a frame that interrupted the original, as a signal handler's does: its caller
# is the place in the original that the instruction stands for, with all registers as they are. From there on the module's own unwind
# tables say the truth: rows, personality and landing pads of the very instruction.
#
# One CIE and one FDE for all regions and every address in them. What differs is computed from the instruction pointer:
#
#   trampoline = cell(rip).start                           offset = rip - trampoline; with a lead, start & 8
#   offset < ADA_TRAMPOLINE_BODY                           original + 0; 8 bytes up from ADA_TRAMPOLINE_JUMP on; but with a
#                                                          lead, 128 bytes down from 0 on, 8 up at ADA_TRAMPOLINE_JUMP
#   otherwise, by the last origin with body <= offset - ADA_TRAMPOLINE_BODY:
#                                                          original + origin.original + what is left; origin.pushed bytes down
#
# libgcc knows the handler's frame by CFA, less one where the frame was interrupted: so the CFA is a byte above the stack
# pointer of the original, which no frame's is, and a rule of its own for the stack pointer says the truth (as in stubs.S).
# nongnu libunwind takes the CFA for the stack pointer: it is told the true one (`extra` 0).
#include "offsets.h"
#include "dwarf.inc"

.macro ADD constant
	.byte DW_OP_plus_uconst
	.uleb128 \constant
.endm
.macro CELL				# that an address lies in
	.byte DW_OP_const1s, -ADA_TRAMPOLINE_BYTES, DW_OP_and
.endm
.macro JUMP opcode, label		# 2 bytes, from behind them
	.byte \opcode
	.short \label-.-2
.endm

# Leaves the trampoline, then the offset in its body and a pointer to the origin; from \head on, the trampoline and the offset.
.macro FIND head
	.byte DW_OP_rip
	.byte DW_OP_rip
	CELL
	ADD CELL_START
	.byte DW_OP_deref			# rip, trampoline
	.byte DW_OP_dup, DW_OP_rot, DW_OP_minus	# trampoline, offset
	.byte DW_OP_dup, DW_OP_lit0+ADA_TRAMPOLINE_BODY, DW_OP_lt
	JUMP DW_OP_bra, \head
	.byte DW_OP_lit0+ADA_TRAMPOLINE_BODY, DW_OP_minus
	.byte DW_OP_over
	CELL
	ADD CELL_ORIGINS
	.byte DW_OP_deref			# trampoline, offset in the body, first origin
.Lnext\@:
	.byte DW_OP_dup
	ADD ORIGIN_BYTES+ORIGIN_BODY
	.byte DW_OP_deref_size, 1		# where the next one begins
	.byte DW_OP_pick, 2, DW_OP_gt
	JUMP DW_OP_bra, .Lfound\@
	ADD ORIGIN_BYTES
	JUMP DW_OP_skip, .Lnext\@
.Lfound\@:
.endm

	.section .rodata
	.p2align 3
.macro REGION_FRAMES name, extra
	.globl \name
	.hidden \name
	.type \name,@object
\name:			# as .eh_frame_hdr: version, where .eh_frame is, no table
	.byte 1, DW_EH_PE_pcrel_sdata4, DW_EH_PE_omit, DW_EH_PE_omit
	.long \name\()_cie-.
	.globl \name\()_cie, \name\()_place, \name\()_end
	.hidden \name\()_cie, \name\()_place, \name\()_end
\name\()_cie:
.Lcie\@:
	.long .Lfde\@-.-4
	.long 0
	.byte 1
	.asciz "zRS"			# S: what the next frame was interrupted at is an instruction, not a return address
	.uleb128 1
	.sleb128 -8
	.byte 16
	.uleb128 1
	.byte 0				# addresses are absolute
	.p2align 3
.Lfde\@:
	.long .Lend\@-.-4
	.long .-.Lcie\@
\name\()_place:
	.quad 1, 1<<63			# every address: asked only for those in regions
	.uleb128 0

	.byte DW_CFA_def_cfa_expression
	.uleb128 .Lcfa_end\@-.Lcfa\@
.Lcfa\@:
	FIND .Lcfa_head\@
	ADD ORIGIN_PUSHED
	.byte DW_OP_deref_size, 1
	JUMP DW_OP_skip, .Lcfa_known\@
.Lcfa_head\@:
	.byte DW_OP_dup, DW_OP_lit0+ADA_TRAMPOLINE_JUMP, DW_OP_ne, DW_OP_over, DW_OP_lit0, DW_OP_ge, DW_OP_and
	.byte DW_OP_pick, 2, DW_OP_lit0+ADA_TRAMPOLINE_LEAD, DW_OP_and, DW_OP_mul	# what the lead says, where it holds
	.byte DW_OP_dup, DW_OP_lit0, DW_OP_eq, DW_OP_pick, 2, DW_OP_lit0+ADA_TRAMPOLINE_JUMP, DW_OP_ge, DW_OP_mul
	.byte DW_OP_lit0+3, DW_OP_shl, DW_OP_neg, DW_OP_swap, DW_OP_lit0+4, DW_OP_shl, DW_OP_plus
	.if ADA_TRAMPOLINE_LEAD<<4-ADA_RED_ZONE_BYTES
	.error "the lead's bit of `start`"
	.endif
.Lcfa_known\@:
	.byte DW_OP_rsp, DW_OP_plus
	ADD \extra
.Lcfa_end\@:

	.byte DW_CFA_val_expression, 7, 2, DW_OP_lit0+\extra, DW_OP_minus	# from the CFA

	.byte DW_CFA_val_expression, 16
	.uleb128 .Lra_end\@-.Lra\@
.Lra\@:
	FIND .Lra_head\@
	.byte DW_OP_dup
	ADD ORIGIN_ORIGINAL
	.byte DW_OP_deref_size, 1, DW_OP_swap
	ADD ORIGIN_BODY
	.byte DW_OP_deref_size, 1, DW_OP_minus, DW_OP_plus
	JUMP DW_OP_skip, .Lra_known\@
.Lra_head\@:
	.byte DW_OP_drop, DW_OP_lit0
.Lra_known\@:				# trampoline, offset in the original
	.byte DW_OP_swap
	CELL
	ADD CELL_ORIGINAL
	.byte DW_OP_deref, DW_OP_plus
.Lra_end\@:
	.p2align 3
.Lend\@:
	.long 0
\name\()_end:
	.size \name,.-\name
.endm
	REGION_FRAMES ada_region_frames, 1
	REGION_FRAMES ada_region_frames_plain, 0

# A near stub is the function itself at its entry, and has the function's frame: the return address is in its slot. The stack pointer is
# at the slot, but past it where ADA_NEAR_AT_SLOT has no bit for the instruction. The same for all unwinders.
#define ADA_NEAR_AT_SLOT ((1<<ADA_NEAR_STUB_JUMP)-1|(1<<ADA_NEAR_STUB_END)-(1<<ADA_NEAR_STUB_BODY))
	.globl ada_near_frames, ada_near_frames_cie, ada_near_frames_place, ada_near_frames_end
	.hidden ada_near_frames, ada_near_frames_cie, ada_near_frames_place, ada_near_frames_end
	.type ada_near_frames,@object
	.p2align 3
ada_near_frames:
	.byte 1, DW_EH_PE_pcrel_sdata4, DW_EH_PE_omit, DW_EH_PE_omit
	.long ada_near_frames_cie-.
ada_near_frames_cie:
	.long .Lnear_fde-.-4
	.long 0
	.byte 1
	.asciz "zR"
	.uleb128 1
	.sleb128 -8
	.byte 16
	.uleb128 1
	.byte 0				# addresses are absolute
	.byte DW_CFA_def_cfa_expression, 17, DW_OP_rsp, DW_OP_const4u
	.long ADA_NEAR_AT_SLOT
	.byte DW_OP_rip, DW_OP_lit0+31, DW_OP_and, DW_OP_shr, DW_OP_lit0+1, DW_OP_and, DW_OP_lit0+3, DW_OP_shl, DW_OP_plus
	.byte DW_CFA_offset+16, 1
	.p2align 3
.Lnear_fde:
	.long .Lnear_end-.-4
	.long .-ada_near_frames_cie
ada_near_frames_place:
	.quad 1, 1<<63			# every address: asked only for those in regions
	.uleb128 0
	.p2align 3
.Lnear_end:
	.long 0
ada_near_frames_end:
	.size ada_near_frames,.-ada_near_frames
	.section .note.GNU-stack,"",@progbits
