/* Descendants that have not said HELLO (yet): they are between vfork or exec and the agent's start, or the agent can't get into them. The
 * recorder must not end before they have had their chance, or have ended. */
#ifndef ADA_RECORDER_STRAY_H
#define ADA_RECORDER_STRAY_H
#include "recorder/state/state.h"

/* A process of the user's that is no provider and was started with this session's socket in its environment; 0: none. */
pid_t ada_stray_find(struct ada_recorder *recorder, const char *socket);
#endif
