/* --budget: lets go of the functions whose recording costs most and says least, while the program runs, and takes them back when there is
 * room (decide.h says which, words.h by what, flip.h how). What is out is in provider->mutes. Main thread. */
#ifndef ADA_RECORDER_BUDGET_H
#define ADA_RECORDER_BUDGET_H
#include "recorder/state/state.h"

#define ADA_BUDGET_HISTORY 16u /* sealed chunks of detail, some 3 MiB: enough until a process costs no more than it may */

/* Looks at the process where it is time to, and changes hooks where that is wanted. */
void ada_budget_turn(struct ada_provider *provider, uint64_t now_ns);
/* The process has ended, or recording does: its hooks stay as they are. */
void ada_budget_end(struct ada_provider *provider);
#endif
