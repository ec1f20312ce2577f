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
/* Decodes all code. Afterwards targets are sorted, and parts of refused functions are refused with them. */
int ada_code_read(struct ada_planner *planner);
/* For a file whose code isn't read: refuses exported functions that touch their return address at once. */
void ada_callers_refuse(struct ada_planner *planner);

/* What a name says about hooking its function; NONE: nothing. A "@VERSION" at the name's end is overlooked. */
enum ada_refusal ada_name_refusal(const char *name);
bool ada_name_is_cold(const char *name);
bool ada_name_is_intercept(const char *name);
uint16_t ada_name_objects(const char *name); /* flags of what its calls work on; 0: no such function */
#endif
