/* From the address of a function to its entry. Units are found by their ranges, in one sorted table made at the first question;
 * a unit's functions are listed when the first of them is asked for, so that one look-up in a large file reads one unit, and all
 * look-ups together read each unit once. */
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include "elf/debug/internal.h"

#define UNITS_MAX 1000000
#define RANGES_MAX 20000000
#define OVERLAPS_MAX 16 /* ranges of other units that may begin between a function's and its address */

static enum ada_debug_language language_of(Dwarf_Die *top)
{
	switch (dwarf_srclang(top)) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14: return ADA_DEBUG_CXX;
	case 0x2b:
	case 0x3a: /* C++17 and C++20, of DWARF 6 */ return ADA_DEBUG_CXX;
	case DW_LANG_Rust: return ADA_DEBUG_RUST;
	case DW_LANG_Mips_Assembler: return ADA_DEBUG_ASSEMBLY;
	}
	return ADA_DEBUG_C;
}

static bool by_gcc(Dwarf_Die *top)
{
	Dwarf_Attribute attribute;
	const char *producer = dwarf_formstring(dwarf_attr(top, DW_AT_producer, &attribute));

	return producer && strncmp(producer, "GNU ", 4) == 0;
}

static int add_ranges(struct ada_debug_index *index, Dwarf_Die *top, const struct ada_elf *elf)
{
	struct ada_debug_range range = { .unit = (uint32_t)(index->units.count - 1) };
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(top, at, &base, &start, &end)) > 0 && index->ranges.count < RANGES_MAX) {
		const struct ada_elf_segment *segment = ada_elf_segment_of(elf, start);

		/* Functions that the linker has discarded keep addresses where no code is. */
		if (start >= end || !segment || !segment->executable)
			continue;
		range.start = start;
		range.end = end;
		if (ada_array_push(&index->ranges, range))
			return -ENOMEM;
	}
	return 0;
}

static int compare_ranges(const void *left, const void *right)
{
	const struct ada_debug_range *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->unit < b->unit ? -1 : a->unit > b->unit;
}

int ada_debug_index_make(struct ada_debug_index *index, Dwarf *dwarf, const struct ada_elf *elf)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die top, split;
	uint8_t type;

	index->budget = 16 * elf->length;
	while (index->units.count < UNITS_MAX && dwarf_get_units(dwarf, unit, &unit, NULL, &type, &top, &split) == 0) {
		bool is_split = type == DW_UT_skeleton && dwarf_tag(&split) != DW_TAG_invalid;
		struct ada_debug_unit added = { .top = is_split ? split : top, .lines = top };

		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		added.language = language_of(&added.top);
		added.gcc = by_gcc(&added.top);
		if (ada_array_push(&index->units, added) || add_ranges(index, &top, elf))
			return -ENOMEM;
	}
	if (index->ranges.count)
		qsort(index->ranges.items, index->ranges.count, sizeof *index->ranges.items, compare_ranges);
	return 0;
}

static bool is_one_place(Dwarf_Attribute *location)
{
	switch (dwarf_whatform(location)) {
	case DW_FORM_exprloc:
	case DW_FORM_block:
	case DW_FORM_block1:
	case DW_FORM_block2:
	case DW_FORM_block4: return true;
	}
	return false;
}

/* Signs that LLVM leaves only in optimised code: parameters that change their place, or have none. */
static bool looks_optimised(Dwarf_Die *function)
{
	Dwarf_Attribute location;
	Dwarf_Die child, type;

	if (dwarf_hasattr(function, DW_AT_call_all_calls) || dwarf_hasattr(function, DW_AT_GNU_all_call_sites))
		return true;
	if (dwarf_child(function, &child) != 0)
		return false;
	do {
		/* Structures behind a pointer move also in code that isn't optimised. */
		if (dwarf_tag(&child) != DW_TAG_formal_parameter || !ada_debug_type_of(&child, &type) ||
		    (dwarf_tag(&type) != DW_TAG_base_type && dwarf_tag(&type) != DW_TAG_pointer_type))
			continue;
		if (!dwarf_attr(&child, DW_AT_location, &location) || !is_one_place(&location))
			return true;
	} while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

/* A function in several parts begins with its first one. */
static bool begins_at(Dwarf_Die *function, Dwarf_Addr *address)
{
	Dwarf_Addr base, end;

	return dwarf_entrypc(function, address) == 0 || dwarf_ranges(function, 0, &base, address, &end) > 0;
}

static int add_function(struct ada_debug_index *index, uint32_t unit, Dwarf_Die *die)
{
	struct ada_debug_entry entry = { *die, unit };
	Dwarf_Addr address;
	uint64_t number;

	if (!begins_at(die, &address))
		return 0;
	if (!index->units.items[unit].gcc && !index->units.items[unit].optimised)
		index->units.items[unit].optimised = looks_optimised(die);
	if (ada_table_get(&index->by_address, address, &number))
		return 0;
	number = index->entries.count;
	return ada_array_push(&index->entries, entry) ? -ENOMEM : ada_table_put(&index->by_address, address, number);
}

static int add_functions(struct ada_debug_index *index, uint32_t unit, Dwarf_Die *parent, unsigned nesting, bool deeply)
{
	Dwarf_Die die;
	int result = 0;

	if (nesting > ADA_DEBUG_NESTING_MAX || dwarf_child(parent, &die) != 0)
		return 0;
	do {
		switch (dwarf_tag(&die)) {
		case DW_TAG_subprogram:
			result = add_function(index, unit, &die);
			if (deeply && !result)
				result = add_functions(index, unit, &die, nesting + 1, true);
			break;
		case DW_TAG_lexical_block:
			if (deeply)
				result = add_functions(index, unit, &die, nesting + 1, true);
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
		case DW_TAG_union_type:
		case DW_TAG_enumeration_type: result = add_functions(index, unit, &die, nesting + 1, deeply); break;
		case DW_TAG_base_type:
		case DW_TAG_imported_unit: index->units.items[unit].has_types = true; break;
		}
	} while (!result && index->budget && index->budget-- && dwarf_siblingof(&die, &die) == 0);
	return result;
}

static const struct ada_debug_entry *find_in_unit(struct ada_debug_index *index, uint32_t number, uint64_t address)
{
	struct ada_debug_unit *unit = &index->units.items[number];
	uint64_t found;

	if (!unit->indexed) {
		unit->indexed = true;
		add_functions(index, number, &unit->top, 0, false);
	}
	if (ada_table_get(&index->by_address, address, &found))
		return &index->entries.items[found];
	if (!unit->deeply) {
		unit->deeply = true;
		add_functions(index, number, &unit->top, 0, true);
	}
	return ada_table_get(&index->by_address, address, &found) ? &index->entries.items[found] : NULL;
}

const struct ada_debug_entry *ada_debug_index_find(struct ada_debug_index *index, uint64_t address)
{
	const struct ada_debug_entry *entry = NULL;
	size_t at = ada_array_below(&index->ranges, start, address + 1);
	uint64_t found;

	if (ada_table_get(&index->by_address, address, &found))
		return &index->entries.items[found];
	for (unsigned i = 0; i < OVERLAPS_MAX && at-- > 0 && !entry; i++)
		if (address < index->ranges.items[at].end)
			entry = find_in_unit(index, index->ranges.items[at].unit, address);
	return entry;
}

const struct ada_debug_unit *ada_debug_index_unit(const struct ada_debug_index *index, uint64_t address)
{
	size_t at = ada_array_below(&index->ranges, start, address + 1);

	for (unsigned i = 0; i < OVERLAPS_MAX && at-- > 0; i++)
		if (address < index->ranges.items[at].end)
			return &index->units.items[index->ranges.items[at].unit];
	return NULL;
}

void ada_debug_index_free(struct ada_debug_index *index)
{
	ada_array_free(&index->units);
	ada_array_free(&index->ranges);
	ada_array_free(&index->entries);
	ada_table_free(&index->by_address);
}
