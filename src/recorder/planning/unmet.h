#ifndef ADA_RECORDER_UNMET_H
#define ADA_RECORDER_UNMET_H
#include "recorder/planning/filter.h"
#include "recorder/planning/plans.h"
#include "trigger/capture.h"

/* Says which patterns of --functions and --exclude (`filter`), --keep (`kept`), --capture and --redact fit no function of any program and
 * library that was planned, and the names that are nearest to them. NULL: there are none. At the end, when no plan is made any more. */
void ada_plans_tell_unmet(struct ada_plans *plans, const struct ada_filter *filter, const struct ada_filter *kept,
			  const struct ada_capture_list *captures, const struct ada_capture_list *redactions);
/* The same of --modules and what the program had loaded. */
void ada_modules_tell_unmet(const struct ada_module_filter *filter);
#endif
