/* Parts of functions. Compilers lay what is seldom run apart from the rest (.cold), and only jumps lead there and back. With
 * symbols their names tell. In a stripped file such a part is a start in .eh_frame, and where it belongs to a leaf it looks like
 * a function: the return address lies at the stack pointer. But the leaf may keep data below that, in the red zone, and go on
 * to use them when it is jumped back to. So what .eh_frame alone calls a function, and jumps reach, gets a trampoline that leaves
 * the red zone alone; and so does a function that jumps reach from such a part, which may be the one that it belongs to. Whatever
 * its name, what jumps into the middle of another function is a part.
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

/* Reasons that hold for the whole of a function: what a stub in the slot does to one part, it does to all. */
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
