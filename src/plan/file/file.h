/* The bytes of a plan (abi/plan.h). */
#ifndef ADA_PLAN_FILE_H
#define ADA_PLAN_FILE_H
#include "plan/ground/ground.h"

/* Lays out what the other rooms found out; *bytes is malloc'ed. */
int ada_plan_assemble(struct ada_planner *planner, uint8_t **bytes, uint64_t *length);
/* The calls that a plan lists, malloc'ed. Hooks are sorted, and functions know theirs. */
int ada_calls_choose(const struct ada_planner *planner, struct ada_plan_call **calls, uint32_t *count);
/* Checks header, checksum and every offset of `bytes` bytes at `memory`. 0, or -EBADMSG with the reason. */
int ada_plan_check(const void *memory, uint64_t bytes, struct ada_error *error);
#endif
