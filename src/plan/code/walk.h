/* What the files of this room hand one another while all code is read. */
#ifndef ADA_PLAN_WALK_H
#define ADA_PLAN_WALK_H
#include "plan/ground/ground.h"

/* Refuses what belongs to a run-time that keys on return addresses. */
void ada_runtimes_refuse(struct ada_planner *planner);

int ada_sweep(struct ada_planner *planner);
/* A pointer, table entry or landing pad: kept only if it lands near an entry but not on one. */
int ada_reference_add(struct ada_planner *planner, uint64_t address);
int ada_tables_read(struct ada_planner *planner);

struct ada_caller_walk {	  /* both in bytes; INT64_MIN: not known */
	int64_t below_slot;	  /* stack pointer, from the slot of the return address down */
	int64_t frame_below_slot; /* frame pointer, likewise */
};
void ada_caller_start(struct ada_caller_walk *walk);
/* Takes the function's instructions in their order, from its entry on. True: this one reads or writes the return address. */
bool ada_caller_step(struct ada_caller_walk *walk, const ZydisDecodedInstruction *instruction);
/* Something other than a call leads to `address`: a jump in code of a part (`from_part`) or of a function, a table, a pointer.
 * True: the code at `address` may be a part. */
bool ada_part_reached(struct ada_planner *planner, uint64_t address, bool from_part);
bool ada_piece_is_part(const struct ada_planner *planner, const struct ada_piece *piece); /* or may be one */
void ada_parts_settle(struct ada_planner *planner); /* by all targets: what is a part for sure, and refused with its function */
#endif
