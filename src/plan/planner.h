/* Makes a plan, room by room: finds the functions and reads their code (code/), patches each (patch/), lays out the bytes
 * (file/). */
#ifndef ADA_PLAN_PLANNER_H
#define ADA_PLAN_PLANNER_H
#include <stdint.h>
#include "base/error.h"
#include "elf/file/elf.h"
#include "plan/ground/options.h"

/* Makes the plan of an open file; *bytes is malloc'ed. 0 or -errno. */
int ada_planner_run(const struct ada_elf *elf, const struct ada_plan_options *options, uint8_t **bytes, uint64_t *length,
		    struct ada_error *error);
#endif
