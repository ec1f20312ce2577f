/* Types as their entries make them up: what an entry leads to, how large it is, and where members lie in structures. */
#include <dwarf.h>
#include <string.h>
#include "elf/debug/internal.h"

#define QUALIFIERS_MAX 32 /* typedefs and the like one upon the other */

bool ada_debug_follow(Dwarf_Die *die, unsigned attribute, Dwarf_Die *to)
{
	Dwarf_Attribute found;

	return dwarf_formref_die(dwarf_attr(die, attribute, &found), to) != NULL;
}

bool ada_debug_named_type(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute found;

	return dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &found), type) != NULL;
}

/* Not dwarf_peel_type and dwarf_aggregate_size: they have no end where a type is made of itself. */
bool ada_debug_type_of(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Die whole;

	if (!ada_debug_named_type(die, type))
		return false;
	for (unsigned i = 0; i < QUALIFIERS_MAX; i++)
		switch (dwarf_tag(type)) {
		case DW_TAG_typedef:
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_restrict_type:
		case DW_TAG_atomic_type:
		case DW_TAG_immutable_type:
		case DW_TAG_packed_type:
		case DW_TAG_shared_type:
			if (!ada_debug_named_type(type, type))
				return false;
			break;
		default:
			/* In a type unit of its own. */
			if (dwarf_hasattr(type, DW_AT_signature) && ada_debug_follow(type, DW_AT_signature, &whole))
				*type = whole;
			return true;
		}
	return false;
}

bool ada_debug_number(Dwarf_Die *die, unsigned name, Dwarf_Word *number)
{
	Dwarf_Attribute attribute;

	return dwarf_formudata(dwarf_attr(die, name, &attribute), number) == 0;
}

uint64_t ada_debug_elements(Dwarf_Die *array)
{
	uint64_t count = 1;
	Dwarf_Word number;
	Dwarf_Die child;

	if (dwarf_child(array, &child) != 0)
		return 0;
	do {
		if (dwarf_tag(&child) != DW_TAG_subrange_type)
			continue;
		if (!ada_debug_number(&child, DW_AT_count, &number)) {
			if (!ada_debug_number(&child, DW_AT_upper_bound, &number))
				return 0;
			number++;
		}
		if (__builtin_mul_overflow(count, number, &count))
			return 0;
	} while (dwarf_siblingof(&child, &child) == 0);
	return count;
}

uint64_t ada_debug_bytes(Dwarf_Die *type)
{
	uint64_t bytes = 1;
	Dwarf_Word number;
	Dwarf_Die die = *type;

	for (unsigned i = 0; i < QUALIFIERS_MAX; i++) {
		if (ada_debug_number(&die, DW_AT_byte_size, &number))
			return __builtin_mul_overflow(bytes, number, &bytes) ? 0 : bytes;
		switch (dwarf_tag(&die)) {
		case DW_TAG_pointer_type:
		case DW_TAG_reference_type:
		case DW_TAG_rvalue_reference_type: return __builtin_mul_overflow(bytes, 8, &bytes) ? 0 : bytes;
		case DW_TAG_array_type:
			if (__builtin_mul_overflow(bytes, ada_debug_elements(&die), &bytes))
				return 0;
			break;
		case DW_TAG_enumeration_type:
		case DW_TAG_subrange_type: break;
		default: return 0;
		}
		if (!ada_debug_type_of(&die, &die))
			return 0;
	}
	return 0;
}

bool ada_debug_is_vector(Dwarf_Die *array)
{
	return dwarf_hasattr(array, DW_AT_GNU_vector);
}

bool ada_debug_is_string(Dwarf_Die *die)
{
	const char *name = dwarf_diename(die);
	uint64_t bytes = ada_debug_bytes(die);

	/* libstdc++'s string has 32 bytes; a compiler may leave out its members. libc++'s is another. */
	return name && strncmp(name, "basic_string<char, std::char_traits<char>", 41) == 0 && (bytes == 32 || !bytes);
}

bool ada_debug_is_transparent(Dwarf_Die *type)
{
	Dwarf_Die child;

	if (dwarf_tag(type) != DW_TAG_union_type || ada_debug_bytes(type) < 2 || dwarf_hasattr(type, DW_AT_declaration))
		return false;
	if (dwarf_child(type, &child) != 0)
		return true;
	do
		if (dwarf_tag(&child) == DW_TAG_member)
			return false;
	while (dwarf_siblingof(&child, &child) == 0);
	return true;
}

/* --- members ------------------------------------------------------------------------------------------------------------ */

bool ada_debug_member_offset(Dwarf_Die *member, uint64_t *offset)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;
	Dwarf_Op *operations;
	size_t count;

	*offset = 0;
	if (dwarf_hasattr(member, DW_AT_external) || dwarf_hasattr(member, DW_AT_declaration))
		return false; /* static */
	if (dwarf_formudata(dwarf_attr(member, DW_AT_data_bit_offset, &attribute), &value) == 0)
		*offset = value / 8;
	else if (!dwarf_attr(member, DW_AT_data_member_location, &attribute))
		return true;
	else if (dwarf_formudata(&attribute, &value) == 0)
		*offset = value;
	else if (dwarf_getlocation(&attribute, &operations, &count) == 0 && count == 1 && operations[0].atom == DW_OP_plus_uconst)
		*offset = operations[0].number;
	else
		return false;
	return *offset <= UINT32_MAX;
}

bool ada_debug_member_bits(Dwarf_Die *die, struct ada_debug_member *member)
{
	Dwarf_Attribute attribute;
	Dwarf_Word bits, at, bytes;

	if (!dwarf_attr(die, DW_AT_bit_size, &attribute))
		return true;
	if (dwarf_formudata(&attribute, &bits) || !bits || bits > 64)
		return false;
	member->bits = (uint8_t)bits;
	if (dwarf_formudata(dwarf_attr(die, DW_AT_data_bit_offset, &attribute), &at) == 0) {
		member->shift = at % 8;
	} else if (dwarf_formudata(dwarf_attr(die, DW_AT_bit_offset, &attribute), &at) == 0) {
		if (dwarf_formudata(dwarf_attr(die, DW_AT_byte_size, &attribute), &bytes))
			bytes = member->type.bytes;
		if (bytes > 8 || at > 64 || at + bits > 8 * bytes)
			return false;
		at = 8 * bytes - at - bits;
		member->offset += (uint32_t)(at / 8);
		member->shift = at % 8;
	}
	return true;
}
