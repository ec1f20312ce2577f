/* Jump tables of 32-bit offsets, as gcc and clang make them for switch: entry = place - base, the base being the table
 * itself or a label. (Tables of 64-bit addresses have relocations, or are found among the words of the data.)
 *
 * Nothing tells a table's length. So the scan goes on as long as entries lead into the function, to the start of another
 * one, or into a piece of none. A scan too far is harmless: it can only refuse a patch. Stopping at entries that lead to
 * other starts missed 58 of 1,303 tables in lua.
 */
#include <errno.h>
#include "plan/code/walk.h"

#define TABLE_MAX_ENTRIES 65536u

static const struct ada_piece *piece_of(const struct ada_planner *planner, uint64_t address)
{
	size_t next = ada_array_below(&planner->pieces, start, address + 1);

	return next ? &planner->pieces.items[next - 1] : NULL;
}

static bool is_possible(const struct ada_planner *planner, uint64_t target, uint64_t start, uint64_t end)
{
	const struct ada_piece *piece;

	if (target >= start && target < end)
		return true;
	if (target < planner->text_start || target >= planner->text_end)
		return false;
	piece = piece_of(planner, target);
	return piece && (piece->start == target || piece->function == ADA_PLAN_NONE);
}

struct bounds { /* of the function that a table belongs to */
	uint64_t start, end;
};

/* The function around `address`; false: the address lies in none. */
static bool find_owner(const struct ada_planner *planner, uint64_t address, struct bounds *owner)
{
	uint32_t number = ada_functions_before(planner, address);

	if (number == ADA_PLAN_NONE || address >= planner->functions.items[number].end)
		return false;
	owner->start = planner->functions.items[number].address;
	owner->end = planner->functions.items[number].end;
	return true;
}

static int read_table(struct ada_planner *planner, const struct ada_table_use *use)
{
	const struct ada_piece *piece = &planner->pieces.items[use->piece];
	struct bounds owner = { 0 };
	uint64_t rest;
	const uint8_t *bytes = ada_elf_rest(planner->elf, use->table, &rest);
	bool owned = find_owner(planner, piece->start, &owner);

	if (ada_code_of(planner, piece->start)->no_functions)
		return 0; /* BOLT's leftovers: dead, or leading back into themselves */
	for (uint64_t i = 0; bytes && i < TABLE_MAX_ENTRIES && (i + 1) * 4 <= rest; i++) {
		uint64_t target = use->base + (uint64_t)(int32_t)ada_read32(bytes + i * 4);

		/* A cold part belongs to the function that its table leads into. */
		if (!owned)
			owned = find_owner(planner, target, &owner);
		if (!is_possible(planner, target, owner.start, owner.end))
			break;
		if (target < owner.start || target >= owner.end)
			ada_part_reached(planner, target, false);
		else if (ada_reference_add(planner, target))
			return -ENOMEM;
	}
	return 0;
}

int ada_tables_read(struct ada_planner *planner)
{
	for (size_t i = 0; i < planner->tables.count; i++)
		if (read_table(planner, &planner->tables.items[i]))
			return -ENOMEM;
	return 0;
}
