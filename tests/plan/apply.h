/* Applies a plan to a library of this very process, as the agent would, with trampolines that only count. */
#ifndef ADA_TESTS_PLAN_APPLY_H
#define ADA_TESTS_PLAN_APPLY_H
#include <stdint.h>
#include "plan/plan.h"

/* Loads `path` and patches every function that its plan hooks. NULL with a message on stderr: it can't be done.
 * *calls then counts entries of all hooked functions. The library stays. */
void *apply_load(const char *path, uint64_t **calls, struct ada_plan **plan);
/* How often hook number `hook` of the library loaded last was entered. */
uint64_t apply_count(uint32_t hook);
#endif
