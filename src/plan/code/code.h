/* What is a function, and what its code does. In this order:
 *
 *   functions.c   symbols and unwind entries -> functions, pieces; runtime.c: whose return addresses must stay as they are
 *   sweep.c       decodes all code once -> targets (what lands near an entry), pads, uses of the GOT; on the same way
 *                 caller.c finds functions that touch their own return address, and
 *                 parts.c what may be a part of a function, entered with its red zone in use
 *   tables.c      jump tables -> more targets
 */
#ifndef ADA_PLAN_CODE_H
#define ADA_PLAN_CODE_H
#include "plan/ground/ground.h"

int ada_functions_find(struct ada_planner *planner, struct ada_error *error);
/* Decodes all code; behind it, targets are sorted, and what is a part of a refused function is refused with it. */
int ada_code_read(struct ada_planner *planner);
/* In a file whose code isn't read: refuses what is exported and touches its return address at once. */
void ada_callers_refuse(struct ada_planner *planner);

/* What a name says about hooking it; NONE: nothing. A "@VERSION" at its end is overlooked. */
enum ada_refusal ada_name_refusal(const char *name);
bool ada_name_is_cold(const char *name);
bool ada_name_is_intercept(const char *name);
#endif
