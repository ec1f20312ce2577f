/* Names that threads give themselves when they run already. */
#ifndef ADA_RECORDER_NAMES_H
#define ADA_RECORDER_NAMES_H
#include "recorder/state/state.h"

/* Looks at some threads of a live process each time, in turn. Main thread. */
void ada_names_look(struct ada_provider *provider);
#endif
