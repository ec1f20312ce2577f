/* Where values are handed over: by the System V convention of x86-64, as far as debug information allows conclusions, or by Rust's own.
 * Where both may apply, or a type isn't known, the answer is "not known" rather than a guess. */
#include <dwarf.h>
#include "elf/debug/parts.h"

#define GENERAL 6

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
	unsigned work = ADA_DEBUG_WORK_MAX;
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
static bool rust_parts(struct ada_debug_parts *parts, const struct ada_debug_convention *convention, bool *indirect)
{
	*indirect = false;
	/* A function that C calls may go by C's convention, which differs for structures. */
	if (convention->foreign && (parts->bytes > 8 || parts->scalars > 1))
		return false;
	if (!parts->unknown && (parts->scalars == 1 || parts->scalars == 2)) {
		parts->memory = false;
		parts->split = true;
		parts->of[1] = ADA_PART_NONE;
		for (unsigned i = 0; i < parts->scalars; i++)
			parts->of[i] = parts->scalar[i].real ? ADA_PART_VECTOR : ADA_PART_INTEGER;
		return parts->bytes <= (parts->scalars == 1 ? 8 : 16) && parts->scalar[parts->scalars - 1].bytes <= 8;
	}
	/* The number of the variant may be a value of its own, where there is room. */
	if (parts->bytes <= 8 && (!parts->unknown || parts->bytes == parts->alignment)) {
		parts->unknown = parts->memory = false;
		parts->of[0] = ADA_PART_INTEGER;
		parts->of[1] = ADA_PART_NONE;
		return true;
	}
	*indirect = parts->unknown ? parts->bytes > 16 && parts->alignment <= 8 : parts->bytes > 8;
	return *indirect;
}

/* --- places ------------------------------------------------------------------------------------------------------------------ */

static void in_registers(struct ada_debug_where *where, const struct ada_debug_parts *parts, unsigned general, unsigned vector)
{
	where->place = ADA_DEBUG_REGISTERS;
	for (unsigned i = 0; i < 2; i++) {
		if (parts->of[i] != ADA_PART_INTEGER && parts->of[i] != ADA_PART_VECTOR)
			continue;
		where->offsets[where->count] = (uint8_t)(parts->split ? parts->scalar[i].offset : 8 * i);
		where->registers[where->count++] = (int8_t)(parts->of[i] == ADA_PART_INTEGER ? (int)general++ : ~(int)vector++);
	}
}

static unsigned count_parts(const struct ada_debug_parts *parts, enum ada_debug_part part)
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
	struct ada_debug_parts parts;
	Dwarf_Die type;
	bool indirect;

	*where = (struct ada_debug_where){};
	if (!ada_debug_type_of(function, &type))
		return;
	parts = ada_debug_parts_of(&type);
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
	struct ada_debug_parts parts;
	Dwarf_Die type;

	*where = (struct ada_debug_where){};
	if (convention->lost)
		return;
	if (!ada_debug_type_of(parameter, &type)) {
		convention->lost = true;
		return;
	}
	parts = ada_debug_parts_of(&type);
	if (rust && is_aggregate(&type) && parts.bytes && !rust_parts(&parts, convention, &indirect))
		convention->lost = true;
	if (!rust)
		indirect = passed_by_reference(&type, convention->language);
	if (convention->lost || (parts.unknown && !indirect)) {
		convention->lost = true;
		return;
	}
	general = count_parts(&parts, ADA_PART_INTEGER);
	vector = count_parts(&parts, ADA_PART_VECTOR);
	if (indirect) {
		place_pointer(convention, where);
	} else if (parts.memory || parts.x87) {
		on_stack(convention, where, parts.bytes, parts.alignment);
	} else if (convention->general + general <= GENERAL && convention->vector + vector <= ADA_DEBUG_VECTORS) {
		in_registers(where, &parts, convention->general, convention->vector);
		convention->general += general;
		convention->vector += vector;
	} else if (rust && general + vector > 1) {
		convention->lost = true; /* the two halves go ways of their own */
	} else {
		on_stack(convention, where, parts.bytes, parts.alignment);
	}
}
