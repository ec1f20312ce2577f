/* Names that threads give themselves when they run already. */
#ifndef ADA_RECORDER_NAMES_H
#define ADA_RECORDER_NAMES_H
#include "recorder/state/state.h"

/* Of a process that lives: some of its threads each time, in turn. Main thread's. */
void ada_names_look(struct ada_provider *provider);
#endif
