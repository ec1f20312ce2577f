/* Parts of functions. Compilers lay seldom run code apart from the rest (.cold), and only jumps lead there and back. With
 * symbols, the names of the parts tell. In a stripped file such a part is a start in .eh_frame, and a leaf's part looks like a
 * function: the return address lies at the stack pointer. But the leaf may keep data below the stack pointer, in the red zone,
 * and use the data after the jump back. So code that jumps reach and only .eh_frame calls a function gets a trampoline that
 * leaves the red zone alone. A function that jumps from such a part reach gets one, too: the part may belong to it. Code that jumps
 * into the middle of another function is a part, whatever its name.
 */
#include "plan/code/walk.h"

bool ada_piece_is_part(const struct ada_planner *planner, const struct ada_piece *piece)
{
	return piece->function == ADA_PLAN_NONE || planner->functions.items[piece->function].by_frame;
}

bool ada_part_reached(struct ada_planner *planner, uint64_t address, bool from_part)
{
	uint32_t number = ada_functions_before(planner, address);
	struct ada_function *function = number == ADA_PLAN_NONE ? NULL : &planner->functions.items[number];

	if (!function || function->address != address || (!from_part && !function->by_frame))
		return false;
	function->red_zone = true;
	return function->by_frame;
}

/* The function around `address`, or NULL. */
static struct ada_function *function_around(struct ada_planner *planner, uint64_t address)
{
	uint32_t number = ada_functions_before(planner, address);

	return number == ADA_PLAN_NONE || address >= planner->functions.items[number].end ? NULL : &planner->functions.items[number];
}

/* Reasons that hold for the whole of a function: a stub in the slot does the same to all parts. */
static bool is_of_return(unsigned refusal)
{
	return refusal == ADA_REFUSAL_CALLER_LOOKUP || refusal == ADA_REFUSAL_RETURNS_TWICE || refusal == ADA_REFUSAL_STACK_SWITCH ||
	       refusal == ADA_REFUSAL_START || refusal == ADA_REFUSAL_RUNTIME;
}

void ada_parts_settle(struct ada_planner *planner)
{
	bool again;

	do {
		again = false;
		for (size_t i = 0; i < planner->targets.count; i++) {
			const struct ada_target *target = &planner->targets.items[i];
			struct ada_function *part = target->source && !target->call ? function_around(planner, target->source) : NULL;
			const struct ada_function *whole = part ? function_around(planner, target->address) : NULL;

			if (!whole || whole == part)
				continue;
			if (target->address != whole->address)
				part->red_zone = true;
			if (part->refusal || !is_of_return(whole->refusal))
				continue;
			part->refusal = whole->refusal;
			again = true;
		}
	} while (again);
}
