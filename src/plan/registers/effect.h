/* What one instruction does to the registers that a caller can't rely on, as sets of bits:
 *
 *   bit 0 ...    8 9 ...    17 18 ...            23 24 ... 31
 *      low bytes |  the rest  | CF PF AF ZF SF OF  | xmm0 to xmm7
 *
 * Low bytes and rests are those of rax rcx rdx rsi rdi r8 r9 r10 r11, as enum ada_register counts. The low byte stands apart, for a
 * compiler writes a byte and reads the same byte.
 */
#ifndef ADA_PLAN_EFFECT_H
#define ADA_PLAN_EFFECT_H
#include "plan/ground/ground.h"

typedef uint32_t ada_parts; /* of registers */

#define ADA_PARTS_GENERAL 9u
#define ADA_PARTS_OF(register) ((ada_parts)0x201 << (register)) /* enum ada_register, but not the flags */
#define ADA_PARTS_FLAGS ((ada_parts)0x3f << 18)
#define ADA_PARTS_VECTORS ((ada_parts)0xff << 24)
#define ADA_PARTS_ALL UINT32_MAX

struct ada_effect {
	ada_parts reads;    /* looks at what they held before */
	ada_parts writes;   /* whatever they held before is gone, on every run of the instruction */
	ada_parts restores; /* of these: the new value may be one that was held earlier, and kept elsewhere or changed by a constant */
};

struct ada_effects; /* what is known of kinds of instructions: each kind is decoded with its operands once */

struct ada_effects *ada_effects_new(void); /* NULL: no memory */
void ada_effects_free(struct ada_effects *effects);
/* The instruction at `bytes`, which `decoder` decoded as `instruction`. */
struct ada_effect ada_effect_of(struct ada_effects *effects, const ZydisDecoder *decoder, const ZydisDecodedInstruction *instruction,
				const uint8_t *bytes);
#endif
