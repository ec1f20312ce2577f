/* Runs what reads the code: see code.h. */
#include "plan/code/code.h"
#include "plan/code/walk.h"

static int target_order(const void *a, const void *b)
{
	const struct ada_target *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->source < y->source ? -1 : x->source > y->source;
}

int ada_code_read(struct ada_planner *planner)
{
	int status = ada_sweep(planner);

	if (!status)
		status = ada_tables_read(planner);
	ada_array_sort(&planner->targets, target_order);
	ada_parts_settle(planner);
	return status;
}
