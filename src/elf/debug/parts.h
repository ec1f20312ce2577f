/* What a value's bytes are made of, as conventions see it. */
#ifndef ADA_ELF_DEBUG_PARTS_H
#define ADA_ELF_DEBUG_PARTS_H
#include "elf/debug/internal.h"

#define ADA_DEBUG_VECTORS 8	/* registers that hand over arguments */
#define ADA_DEBUG_WORK_MAX 4096 /* parts of a type looked at; of sound types hundreds */

/* What the eight-byte halves of a value are made of. */
enum ada_debug_part { ADA_PART_NONE, ADA_PART_INTEGER, ADA_PART_VECTOR, ADA_PART_VECTOR_UP /* of the same register */ };
struct ada_debug_parts {
	enum ada_debug_part of[2];
	bool memory, x87, unknown;
	bool split; /* the parts are the scalars */
	uint64_t bytes, alignment;
	unsigned work; /* left */
	/* Rust: the value's scalars, in order of address. */
	unsigned scalars;
	struct {
		uint64_t offset, bytes;
		bool real;
	} scalar[2];
};

struct ada_debug_parts ada_debug_parts_of(Dwarf_Die *type);
#endif
