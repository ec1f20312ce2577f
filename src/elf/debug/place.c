/* Where values are handed over: by the System V convention of x86-64, as far as debug information allows conclusions, or by Rust's own.
 * Where both may apply, or a type isn't known, the answer is "not known" rather than a guess. */
#include <dwarf.h>
#include "elf/debug/internal.h"

#define GENERAL 6
#define VECTOR 8
#define WORK_MAX 4096 /* parts of a type looked at; of sound types hundreds */

/* What the eight-byte halves of a value are made of. */
enum part { PART_NONE, PART_INTEGER, PART_VECTOR, PART_VECTOR_UP /* of the same register */ };
struct parts {
	enum part of[2];
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

static void merge(struct parts *parts, uint64_t offset, uint64_t bytes, enum part part)
{
	for (uint64_t at = offset / 8; bytes && at <= (offset + bytes - 1) / 8 && at < 2; at++)
		if (parts->of[at] == PART_NONE || part == PART_INTEGER)
			parts->of[at] = part;
}

static void add_scalar(struct parts *parts, uint64_t offset, uint64_t bytes, bool real)
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

static void add_value(struct parts *parts, uint64_t offset, uint64_t bytes, enum part part)
{
	uint64_t alignment = bytes > 16 || !bytes ? 1 : bytes;

	if (alignment & (alignment - 1))
		alignment = 1;
	if (alignment > parts->alignment)
		parts->alignment = alignment;
	if (offset % alignment)
		parts->memory = true; /* packed */
	merge(parts, offset, bytes, part);
	add_scalar(parts, offset, bytes, part == PART_VECTOR);
}

static void add_base(struct parts *parts, Dwarf_Die *die, uint64_t offset, uint64_t bytes)
{
	const char *name = dwarf_diename(die);
	Dwarf_Attribute attribute;
	Dwarf_Word encoding = 0;

	dwarf_formudata(dwarf_attr(die, DW_AT_encoding, &attribute), &encoding);
	if (encoding == DW_ATE_complex_float) {
		parts->x87 |= bytes > 16;
		merge(parts, offset, bytes, PART_VECTOR);
		parts->scalars += 3;
	} else if (encoding != DW_ATE_float && encoding != DW_ATE_decimal_float) {
		add_value(parts, offset, bytes, PART_INTEGER);
	} else if (bytes == 16 && encoding == DW_ATE_float && !(name && strstr(name, "128"))) {
		parts->x87 = true;
		parts->alignment = 16;
	} else {
		add_value(parts, offset, bytes, PART_VECTOR);
		if (bytes == 16 && !offset)
			parts->of[1] = PART_VECTOR_UP;
	}
}

static void add_type(struct parts *parts, Dwarf_Die *die, uint64_t offset, unsigned nesting);

static void add_members(struct parts *parts, Dwarf_Die *die, uint64_t offset, unsigned nesting)
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
				merge(parts, offset + at, 1 + (bits - 1) / 8, PART_INTEGER);
			else if (ada_debug_type_of(&child, &of))
				add_type(parts, &of, offset + at, nesting + 1);
			else
				parts->unknown = true;
			break;
		}
	} while (parts->work && dwarf_siblingof(&child, &child) == 0);
}

static void add_array(struct parts *parts, Dwarf_Die *die, uint64_t offset, uint64_t bytes, unsigned nesting)
{
	Dwarf_Die of;
	uint64_t one;

	if (ada_debug_is_vector(die)) {
		add_value(parts, offset, bytes, PART_VECTOR);
		if (bytes >= 16 && !offset)
			parts->of[1] = PART_VECTOR_UP;
		return;
	}
	parts->scalars += 3; /* an array is no scalar */
	if (!ada_debug_type_of(die, &of) || !(one = ada_debug_bytes(&of)))
		return;
	for (uint64_t at = 0; at < bytes && at < 16 && parts->work; at += one)
		add_type(parts, &of, offset + at, nesting + 1);
}

static void add_type(struct parts *parts, Dwarf_Die *die, uint64_t offset, unsigned nesting)
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
	case DW_TAG_rvalue_reference_type: add_value(parts, offset, 8, PART_INTEGER); return;
	case DW_TAG_enumeration_type: add_value(parts, offset, bytes, PART_INTEGER); return;
	case DW_TAG_unspecified_type:
		if (dwarf_diename(die) && strcmp(dwarf_diename(die), "decltype(nullptr)") == 0)
			add_value(parts, offset, 8, PART_INTEGER);
		else
			parts->unknown = true;
		return;
	case DW_TAG_ptr_to_member_type:
		add_value(parts, offset, 8, PART_INTEGER);
		if (!ada_debug_type_of(die, &of) || dwarf_tag(&of) == DW_TAG_subroutine_type)
			add_value(parts, offset + 8, 8, PART_INTEGER);
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
			add_value(parts, offset, bytes, PART_INTEGER);
			return;
		}
		add_members(parts, die, offset, nesting);
		return;
	default: parts->unknown = true;
	}
}

static struct parts parts_of(Dwarf_Die *type)
{
	struct parts parts = { .work = WORK_MAX, .bytes = ada_debug_bytes(type), .alignment = 1 };
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

/* --- C++: through a pointer ------------------------------------------------------------------------------------------------ */

/* A constructor from another object of the class, written by the program itself. */
static bool is_own_copy(Dwarf_Die *method, Dwarf_Die *class)
{
	const char *name = dwarf_diename(method), *of = dwarf_diename(class);
	unsigned parameters = 0;
	Dwarf_Die child, type;
	bool same = false;

	if (!name || !of || strncmp(name, of, strcspn(of, "<")) != 0 || name[strcspn(of, "<")] || dwarf_hasattr(method, DW_AT_deleted) ||
	    dwarf_hasattr(method, DW_AT_defaulted) || dwarf_child(method, &child) != 0)
		return false;
	do {
		if (dwarf_tag(&child) != DW_TAG_formal_parameter || dwarf_hasattr(&child, DW_AT_artificial))
			continue;
		parameters++;
		if (!ada_debug_type_of(&child, &type))
			continue;
		same = (dwarf_tag(&type) == DW_TAG_reference_type || dwarf_tag(&type) == DW_TAG_rvalue_reference_type) &&
		       ada_debug_type_of(&type, &type) && type.addr == class->addr;
	} while (dwarf_siblingof(&child, &child) == 0);
	return parameters == 1 && same;
}

/* C++ passes and returns values through a pointer if their class has a destructor or copy of its own, virtual functions, or a member like
 * that. Clang says so in the type; for GCC we have to conclude it. */
static bool by_reference(Dwarf_Die *type, unsigned nesting, unsigned *work)
{
	Dwarf_Attribute attribute;
	Dwarf_Word convention;
	Dwarf_Die child, of;
	const char *name;

	if (dwarf_formudata(dwarf_attr_integrate(type, DW_AT_calling_convention, &attribute), &convention) == 0)
		return convention == DW_CC_pass_by_reference;
	if (nesting > ADA_DEBUG_NESTING_MAX || dwarf_child(type, &child) != 0)
		return false;
	do {
		name = dwarf_diename(&child);
		switch (dwarf_tag(&child)) {
		case DW_TAG_subprogram:
			if (name && name[0] == '~' && !dwarf_hasattr(&child, DW_AT_defaulted))
				return true;
			if (is_own_copy(&child, type))
				return true;
			break;
		case DW_TAG_member:
		case DW_TAG_inheritance:
			if (name && strncmp(name, "_vptr", 5) == 0)
				return true;
			if (dwarf_hasattr(&child, DW_AT_external) || !ada_debug_type_of(&child, &of))
				break;
			while (dwarf_tag(&of) == DW_TAG_array_type && *work && --*work)
				if (!ada_debug_type_of(&of, &of))
					break;
			if ((dwarf_tag(&of) == DW_TAG_structure_type || dwarf_tag(&of) == DW_TAG_class_type) &&
			    by_reference(&of, nesting + 1, work))
				return true;
			break;
		}
	} while (*work && --*work && dwarf_siblingof(&child, &child) == 0);
	return false;
}

static bool passed_by_reference(Dwarf_Die *type, enum ada_debug_language language)
{
	unsigned work = WORK_MAX;
	int tag = dwarf_tag(type);

	return language != ADA_DEBUG_RUST && language != ADA_DEBUG_C &&
	       (tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type) && by_reference(type, 0, &work);
}

/* --- Rust -------------------------------------------------------------------------------------------------------------------- */

static bool is_aggregate(Dwarf_Die *type)
{
	switch (dwarf_tag(type)) {
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_array_type: return true;
	}
	return false;
}

/* Rust's value in the parts of System V: two values where it is made of two, one register where it fits, else a pointer. False: that
 * isn't sure. */
static bool rust_parts(struct parts *parts, const struct ada_debug_convention *convention, bool *indirect)
{
	*indirect = false;
	/* A function that C calls may go by C's convention, which differs for structures. */
	if (convention->foreign && (parts->bytes > 8 || parts->scalars > 1))
		return false;
	if (!parts->unknown && (parts->scalars == 1 || parts->scalars == 2)) {
		parts->memory = false;
		parts->split = true;
		parts->of[1] = PART_NONE;
		for (unsigned i = 0; i < parts->scalars; i++)
			parts->of[i] = parts->scalar[i].real ? PART_VECTOR : PART_INTEGER;
		return parts->bytes <= (parts->scalars == 1 ? 8 : 16) && parts->scalar[parts->scalars - 1].bytes <= 8;
	}
	/* The number of the variant may be a value of its own, where there is room. */
	if (parts->bytes <= 8 && (!parts->unknown || parts->bytes == parts->alignment)) {
		parts->unknown = parts->memory = false;
		parts->of[0] = PART_INTEGER;
		parts->of[1] = PART_NONE;
		return true;
	}
	*indirect = parts->unknown ? parts->bytes > 16 && parts->alignment <= 8 : parts->bytes > 8;
	return *indirect;
}

/* --- places ------------------------------------------------------------------------------------------------------------------ */

static void in_registers(struct ada_debug_where *where, const struct parts *parts, unsigned general, unsigned vector)
{
	where->place = ADA_DEBUG_REGISTERS;
	for (unsigned i = 0; i < 2; i++) {
		if (parts->of[i] != PART_INTEGER && parts->of[i] != PART_VECTOR)
			continue;
		where->offsets[where->count] = (uint8_t)(parts->split ? parts->scalar[i].offset : 8 * i);
		where->registers[where->count++] = (int8_t)(parts->of[i] == PART_INTEGER ? (int)general++ : ~(int)vector++);
	}
}

static unsigned count_parts(const struct parts *parts, enum part part)
{
	return (parts->of[0] == part) + (parts->of[1] == part);
}

static void on_stack(struct ada_debug_convention *convention, struct ada_debug_where *where, uint64_t bytes, uint64_t alignment)
{
	if (alignment > 8)
		convention->stack = (convention->stack + alignment - 1) & ~(alignment - 1);
	if (bytes > UINT32_MAX || convention->stack > UINT32_MAX - 64) {
		convention->lost = true;
		return;
	}
	where->place = ADA_DEBUG_STACK;
	where->stack = (uint32_t)convention->stack;
	convention->stack += (bytes + 7) & ~7ull;
}

static void place_pointer(struct ada_debug_convention *convention, struct ada_debug_where *where)
{
	where->indirect = true;
	if (convention->general == GENERAL) {
		on_stack(convention, where, 8, 8);
		return;
	}
	where->place = ADA_DEBUG_REGISTERS;
	where->registers[where->count++] = (int8_t)convention->general++;
}

void ada_debug_place_result(struct ada_debug_convention *convention, Dwarf_Die *function, struct ada_debug_where *where)
{
	struct parts parts;
	Dwarf_Die type;
	bool indirect;

	*where = (struct ada_debug_where){};
	if (!ada_debug_type_of(function, &type))
		return;
	parts = parts_of(&type);
	indirect = passed_by_reference(&type, convention->language) || parts.memory;
	if (convention->language == ADA_DEBUG_RUST && is_aggregate(&type) && parts.bytes && !rust_parts(&parts, convention, &indirect)) {
		convention->lost = parts.bytes > 8;
		return;
	}
	if (parts.unknown && !indirect) {
		convention->lost = true;
		return;
	}
	if (indirect) {
		convention->general++;
		where->place = ADA_DEBUG_REGISTERS;
		where->indirect = true;
		where->count = 1;
	} else if (parts.x87) {
		where->place = ADA_DEBUG_X87;
	} else if (parts.bytes) {
		in_registers(where, &parts, 0, 0);
	}
}

void ada_debug_place_parameter(struct ada_debug_convention *convention, Dwarf_Die *parameter, struct ada_debug_where *where)
{
	bool indirect = false, rust = convention->language == ADA_DEBUG_RUST;
	unsigned general, vector;
	struct parts parts;
	Dwarf_Die type;

	*where = (struct ada_debug_where){};
	if (convention->lost)
		return;
	if (!ada_debug_type_of(parameter, &type)) {
		convention->lost = true;
		return;
	}
	parts = parts_of(&type);
	if (rust && is_aggregate(&type) && parts.bytes && !rust_parts(&parts, convention, &indirect))
		convention->lost = true;
	if (!rust)
		indirect = passed_by_reference(&type, convention->language);
	if (convention->lost || (parts.unknown && !indirect)) {
		convention->lost = true;
		return;
	}
	general = count_parts(&parts, PART_INTEGER);
	vector = count_parts(&parts, PART_VECTOR);
	if (indirect) {
		place_pointer(convention, where);
	} else if (parts.memory || parts.x87) {
		on_stack(convention, where, parts.bytes, parts.alignment);
	} else if (convention->general + general <= GENERAL && convention->vector + vector <= VECTOR) {
		in_registers(where, &parts, convention->general, convention->vector);
		convention->general += general;
		convention->vector += vector;
	} else if (rust && general + vector > 1) {
		convention->lost = true; /* the two halves go ways of their own */
	} else {
		on_stack(convention, where, parts.bytes, parts.alignment);
	}
}

/* --- as the entry itself says ------------------------------------------------------------------------------------------------ */

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
	if (dwarf < 17 || dwarf >= 17 + VECTOR)
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
