/* Where and how each function is patched, and what is copied of it. */
#ifndef ADA_PLAN_PATCH_H
#define ADA_PLAN_PATCH_H
#include "plan/ground/ground.h"

/* Each function that isn't refused gets the first form that fits, or a refusal. */
int ada_patch_all(struct ada_planner *planner);
#endif
