/* What a plan is to hold. */
#ifndef ADA_PLAN_OPTIONS_H
#define ADA_PLAN_OPTIONS_H
#include <stdbool.h>

struct ada_plan_options {
	bool decode; /* hooks and imports; else names and intercepts only */
	bool int3;   /* allow ADA_PATCH_INT3 */
	bool no_cache;
};
#endif
