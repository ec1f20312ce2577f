/* What the eight-byte halves of a value are made of, by its type: see parts.h. */
#include <dwarf.h>
#include <string.h>
#include "elf/debug/parts.h"

static void merge(struct ada_debug_parts *parts, uint64_t offset, uint64_t bytes, enum ada_debug_part part)
{
	for (uint64_t at = offset / 8; bytes && at <= (offset + bytes - 1) / 8 && at < 2; at++)
		if (parts->of[at] == ADA_PART_NONE || part == ADA_PART_INTEGER)
			parts->of[at] = part;
}

static void add_scalar(struct ada_debug_parts *parts, uint64_t offset, uint64_t bytes, bool real)
{
	unsigned at = parts->scalars++;

	if (at >= 2)
		return;
	if (at == 1 && parts->scalar[0].offset > offset) {
		parts->scalar[1] = parts->scalar[0];
		at = 0;
	}
	parts->scalar[at].offset = offset;
	parts->scalar[at].bytes = bytes;
	parts->scalar[at].real = real;
}

static void add_value(struct ada_debug_parts *parts, uint64_t offset, uint64_t bytes, enum ada_debug_part part)
{
	uint64_t alignment = bytes > 16 || !bytes ? 1 : bytes;

	if (alignment & (alignment - 1))
		alignment = 1;
	if (alignment > parts->alignment)
		parts->alignment = alignment;
	if (offset % alignment)
		parts->memory = true; /* packed */
	merge(parts, offset, bytes, part);
	add_scalar(parts, offset, bytes, part == ADA_PART_VECTOR);
}

static void add_base(struct ada_debug_parts *parts, Dwarf_Die *die, uint64_t offset, uint64_t bytes)
{
	const char *name = dwarf_diename(die);
	Dwarf_Attribute attribute;
	Dwarf_Word encoding = 0;

	dwarf_formudata(dwarf_attr(die, DW_AT_encoding, &attribute), &encoding);
	if (encoding == DW_ATE_complex_float) {
		parts->x87 |= bytes > 16;
		merge(parts, offset, bytes, ADA_PART_VECTOR);
		parts->scalars += 3;
	} else if (encoding != DW_ATE_float && encoding != DW_ATE_decimal_float) {
		add_value(parts, offset, bytes, ADA_PART_INTEGER);
	} else if (bytes == 16 && encoding == DW_ATE_float && !(name && strstr(name, "128"))) {
		parts->x87 = true;
		parts->alignment = 16;
	} else {
		add_value(parts, offset, bytes, ADA_PART_VECTOR);
		if (bytes == 16 && !offset)
			parts->of[1] = ADA_PART_VECTOR_UP;
	}
}

static void add_type(struct ada_debug_parts *parts, Dwarf_Die *die, uint64_t offset, unsigned nesting);

static void add_members(struct ada_debug_parts *parts, Dwarf_Die *die, uint64_t offset, unsigned nesting)
{
	Dwarf_Attribute attribute;
	Dwarf_Die child, of;
	Dwarf_Word bits;
	uint64_t at;

	if (dwarf_child(die, &child) != 0)
		return;
	do {
		switch (dwarf_tag(&child)) {
		case DW_TAG_variant_part: parts->unknown = true; break;
		case DW_TAG_member:
		case DW_TAG_inheritance:
			if (!ada_debug_member_offset(&child, &at))
				break;
			if (dwarf_formudata(dwarf_attr(&child, DW_AT_bit_size, &attribute), &bits) == 0)
				merge(parts, offset + at, 1 + (bits - 1) / 8, ADA_PART_INTEGER);
			else if (ada_debug_type_of(&child, &of))
				add_type(parts, &of, offset + at, nesting + 1);
			else
				parts->unknown = true;
			break;
		}
	} while (parts->work && dwarf_siblingof(&child, &child) == 0);
}

static void add_array(struct ada_debug_parts *parts, Dwarf_Die *die, uint64_t offset, uint64_t bytes, unsigned nesting)
{
	Dwarf_Die of;
	uint64_t one;

	if (ada_debug_is_vector(die)) {
		add_value(parts, offset, bytes, ADA_PART_VECTOR);
		if (bytes >= 16 && !offset)
			parts->of[1] = ADA_PART_VECTOR_UP;
		return;
	}
	parts->scalars += 3; /* an array is no scalar */
	if (!ada_debug_type_of(die, &of) || !(one = ada_debug_bytes(&of)))
		return;
	for (uint64_t at = 0; at < bytes && at < 16 && parts->work; at += one)
		add_type(parts, &of, offset + at, nesting + 1);
}

static void add_type(struct ada_debug_parts *parts, Dwarf_Die *die, uint64_t offset, unsigned nesting)
{
	uint64_t bytes = ada_debug_bytes(die);
	Dwarf_Die of;

	if (nesting > ADA_DEBUG_NESTING_MAX || !parts->work || !parts->work--) {
		parts->unknown = true;
		return;
	}
	switch (dwarf_tag(die)) {
	case DW_TAG_base_type: add_base(parts, die, offset, bytes); return;
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type: add_value(parts, offset, 8, ADA_PART_INTEGER); return;
	case DW_TAG_enumeration_type: add_value(parts, offset, bytes, ADA_PART_INTEGER); return;
	case DW_TAG_unspecified_type:
		if (dwarf_diename(die) && strcmp(dwarf_diename(die), "decltype(nullptr)") == 0)
			add_value(parts, offset, 8, ADA_PART_INTEGER);
		else
			parts->unknown = true;
		return;
	case DW_TAG_ptr_to_member_type:
		add_value(parts, offset, 8, ADA_PART_INTEGER);
		if (!ada_debug_type_of(die, &of) || dwarf_tag(&of) == DW_TAG_subroutine_type)
			add_value(parts, offset + 8, 8, ADA_PART_INTEGER);
		return;
	case DW_TAG_subrange_type:
		if (ada_debug_type_of(die, &of))
			add_type(parts, &of, offset, nesting + 1);
		return;
	case DW_TAG_array_type: add_array(parts, die, offset, bytes, nesting); return;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		if (dwarf_hasattr(die, DW_AT_declaration))
			parts->unknown = true;
		if (dwarf_tag(die) == DW_TAG_union_type)
			parts->scalars += 3;
		if (ada_debug_is_transparent(die)) {
			/* Passed as its first member is: an integer or a pointer, as GCC wants it there. */
			parts->unknown |= bytes > 8;
			add_value(parts, offset, bytes, ADA_PART_INTEGER);
			return;
		}
		add_members(parts, die, offset, nesting);
		return;
	default: parts->unknown = true;
	}
}

struct ada_debug_parts ada_debug_parts_of(Dwarf_Die *type)
{
	struct ada_debug_parts parts = { .work = ADA_DEBUG_WORK_MAX, .bytes = ada_debug_bytes(type), .alignment = 1 };
	Dwarf_Attribute attribute;
	Dwarf_Word alignment;
	Dwarf_Die of;
	bool pointer_to_member = dwarf_tag(type) == DW_TAG_ptr_to_member_type;

	add_type(&parts, type, 0, 0);
	if (pointer_to_member)
		parts.bytes = ada_debug_type_of(type, &of) && dwarf_tag(&of) != DW_TAG_subroutine_type ? 8 : 16;
	if (dwarf_formudata(dwarf_attr(type, DW_AT_alignment, &attribute), &alignment) == 0 && alignment > parts.alignment &&
	    alignment <= 4096)
		parts.alignment = alignment;
	/* Of a vector of 32 bytes and more only the lower part is recorded. */
	if (parts.bytes > 16 && !(dwarf_tag(type) == DW_TAG_array_type && ada_debug_is_vector(type)))
		parts.memory = true;
	return parts;
}
