/* Which registers nobody needs at a function's entry and behind its return, and whether it reads vectors: the sets of struct
 * ada_plan_hook. In this order:
 *
 *   effect.c   what an instruction reads and writes, by what kind.c says of instructions like it
 *   blocks.c   while all code is read: instructions -> basic blocks, each with what it reads and writes as a whole
 *   join.c     where blocks lead, once all code is read
 *   fates.c    what becomes of the registers from each block's start on
 *   settle.c   all functions, until what they do to one another is settled; what callers look at behind their calls; the sets
 */
#ifndef ADA_PLAN_REGISTERS_H
#define ADA_PLAN_REGISTERS_H
#include "plan/ground/ground.h"

/* Called while all code is read; 0 or -ENOMEM. A run is code that was read in one go. */
int ada_registers_begin(struct ada_planner *planner);
int ada_registers_note(struct ada_planner *planner, const ZydisDecodedInstruction *instruction, const uint8_t *bytes, uint64_t address);
int ada_registers_note_undecodable(struct ada_planner *planner, uint64_t address);
int ada_registers_end_run(struct ada_planner *planner, uint64_t start, uint64_t end, uint32_t function);

/* Fills the sets of all functions. 0 or -ENOMEM. */
int ada_registers_settle(struct ada_planner *planner);
void ada_registers_free(struct ada_registers *registers);
#endif
