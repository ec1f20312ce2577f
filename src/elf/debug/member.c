/* Where members lie in their structures. */
#include <dwarf.h>
#include "elf/debug/internal.h"

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
