/* What a program's earlier runs had out at their ends: so that the next one begins with it, once it is seen to cost more than its budget. A
 * file a program (its build-id) beside the plans: a function a line, as the build-id of its module, its number there, and its share. */
#ifndef ADA_RECORDER_LEARNED_H
#define ADA_RECORDER_LEARNED_H
#include "recorder/budget/lines.h"

void ada_learned_take(struct ada_budget *budget); /* adds to the verdicts */
void ada_learned_keep(struct ada_budget *budget); /* at the end of the process */
#endif
