#ifndef ADA_RECORDER_UNMET_H
#define ADA_RECORDER_UNMET_H
#include "recorder/planning/plans.h"

/* Says which patterns of --functions and --exclude fit no function of any program and library that was planned, and the names that are
 * nearest to them. At the end, when no plan is made any more. */
void ada_plans_tell_unmet(struct ada_plans *plans, const struct ada_filter *filter);
#endif
