/* Images that a traced process announced, and which of them nobody ever heard of (abi/wire.h, struct ada_shm_heir). */
#ifndef ADA_RECORDER_HEIR_H
#define ADA_RECORDER_HEIR_H
#include "recorder/state/state.h"

/* Server threads: an image says HELLO, whatever comes of it. */
void ada_heirs_heard(struct ada_recorder *recorder, const struct ada_hello *hello, pid_t pid);
/* Main thread, with provider->lock, while the segment is mapped: takes ANNOUNCED images out of the table, keeping them, since some may be
 * heard of later. Without `all` only those that can't be, and have stood there for so long that their exec has surely worked. */
void ada_heirs_collect(struct ada_provider *provider, bool all);
/* Main thread, with provider->lock: the process itself has announced that it becomes another program. */
bool ada_heirs_own(struct ada_provider *provider);
/* Main thread, at the end: notes as unrecorded the images that no one has heard of. */
void ada_heirs_name(struct ada_recorder *recorder);
#endif
