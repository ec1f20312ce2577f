/* Where a parameter is at the function's beginning, as its own entry says. */
#include <dwarf.h>
#include "elf/debug/parts.h"

static bool register_of(const Dwarf_Op *operation, int8_t *number)
{
	uint64_t dwarf = operation->atom == DW_OP_regx ? operation->number : (uint64_t)operation->atom - DW_OP_reg0;

	if (operation->atom != DW_OP_regx && (operation->atom < DW_OP_reg0 || operation->atom > DW_OP_reg31))
		return false;
	switch (dwarf) {
	case 5: *number = 0; return true; /* rdi rsi rdx rcx r8 r9 */
	case 4: *number = 1; return true;
	case 1: *number = 2; return true;
	case 2: *number = 3; return true;
	case 8: *number = 4; return true;
	case 9: *number = 5; return true;
	}
	if (dwarf < 17 || dwarf >= 17 + ADA_DEBUG_VECTORS)
		return false;
	*number = (int8_t) ~(dwarf - 17);
	return true;
}

/* A register, or the two that hold a structure's parts. */
static bool registers_of(const Dwarf_Op *operations, size_t count, struct ada_debug_where *where)
{
	where->count = count == 1 ? 1 : 2;
	if (count == 1)
		return register_of(&operations[0], &where->registers[0]);
	if (count != 4 || operations[1].atom != DW_OP_piece || operations[3].atom != DW_OP_piece || operations[1].number > 8)
		return false;
	where->offsets[1] = (uint8_t)operations[1].number;
	return register_of(&operations[0], &where->registers[0]) && register_of(&operations[2], &where->registers[1]);
}

/* In memory that an argument's register points to. */
static bool behind_register(const Dwarf_Op *operations, size_t count, struct ada_debug_where *where)
{
	Dwarf_Op operation = operations[0];

	if (count != 1 || operation.atom < DW_OP_breg0 || operation.atom > DW_OP_breg31 || operation.number)
		return false;
	operation.atom = (uint8_t)(operation.atom - DW_OP_breg0 + DW_OP_reg0);
	where->indirect = true;
	where->count = 1;
	return register_of(&operation, &where->registers[0]) && where->registers[0] >= 0;
}

/* Registers that make up the value, or pieces of it; not those that only point to it. */
static uint32_t used_by(const Dwarf_Op *operations, size_t count)
{
	uint32_t used = 0, part = 0;
	bool is_value = false;

	for (size_t i = 0; i <= count; i++) {
		Dwarf_Op operation;
		int8_t number;

		if (i == count || operations[i].atom == DW_OP_piece || operations[i].atom == DW_OP_bit_piece) {
			used |= is_value ? part : 0;
			part = 0;
			is_value = false;
			continue;
		}
		operation = operations[i];
		is_value |= operation.atom == DW_OP_stack_value || (operation.atom >= DW_OP_reg0 && operation.atom <= DW_OP_reg31);
		if (operation.atom >= DW_OP_breg0 && operation.atom <= DW_OP_breg31)
			operation.atom = (uint8_t)(operation.atom - DW_OP_breg0 + DW_OP_reg0);
		if (register_of(&operation, &number))
			part |= 1u << (number >= 0 ? number : 8 + ~number);
	}
	return used;
}

void ada_debug_place_at_entry(Dwarf_Die *parameter, uint64_t address, struct ada_debug_at_entry *at_entry)
{
	struct ada_debug_where *where = &at_entry->where;
	Dwarf_Attribute attribute;
	Dwarf_Op *operations;
	size_t count;

	*at_entry = (struct ada_debug_at_entry){ .where.place = ADA_DEBUG_REGISTERS };
	if (!dwarf_attr(parameter, DW_AT_location, &attribute) ||
	    dwarf_getlocation_addr(&attribute, address, &operations, &count, 1) != 1 || !count)
		return;
	at_entry->used = used_by(operations, count);
	if (registers_of(operations, count, where)) {
		at_entry->found = ADA_DEBUG_LOCATED;
		return;
	}
	*where = (struct ada_debug_where){ .place = ADA_DEBUG_REGISTERS };
	if (behind_register(operations, count, where)) {
		at_entry->found = ADA_DEBUG_BEHIND;
		return;
	}
	for (size_t i = 0; i < count; i++)
		if (operations[i].atom == DW_OP_stack_value || operations[i].atom == DW_OP_implicit_value ||
		    operations[i].atom == DW_OP_piece)
			return;
	if (operations[0].atom == DW_OP_fbreg || (operations[0].atom >= DW_OP_breg0 && operations[0].atom <= DW_OP_breg31))
		at_entry->found = ADA_DEBUG_IN_MEMORY;
}
