/* The tables of a plan that the agent alone reads otherwise. */
#ifndef ADA_TESTS_PLAN_TABLES_H
#define ADA_TESTS_PLAN_TABLES_H
#include "plan/plan.h"

static inline const void *table_at(const struct ada_plan *plan, uint64_t offset)
{
	return (const char *)ada_plan_header(plan) + offset;
}

static inline const struct ada_plan_reloc *relocs_of(const struct ada_plan *plan, const struct ada_plan_hook *hook)
{
	return (const struct ada_plan_reloc *)table_at(plan, ada_plan_header(plan)->relocs_offset) + hook->reloc_first;
}

static inline const struct ada_plan_origin *origins_of(const struct ada_plan *plan, const struct ada_plan_hook *hook)
{
	return (const struct ada_plan_origin *)table_at(plan, ada_plan_header(plan)->origins_offset) + hook->origin_first;
}

static inline const struct ada_plan_call *calls_of(const struct ada_plan *plan)
{
	return table_at(plan, ada_plan_header(plan)->calls_offset);
}

static inline const uint8_t *body_of(const struct ada_plan *plan, const struct ada_plan_hook *hook)
{
	return (const uint8_t *)table_at(plan, ada_plan_header(plan)->bodies_offset) + hook->body_offset;
}
#endif
