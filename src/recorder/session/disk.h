/* Tells of a disk in trouble (index/trouble.h): on stderr when it begins and ends, and in manifests. */
#ifndef ADA_RECORDER_DISK_H
#define ADA_RECORDER_DISK_H
#include <json-c/json.h>
#include "recorder/state/state.h"

/* Main thread, as often as the drain: writes what was held back, where the disk takes it again. */
void ada_disk_retry(struct ada_recorder *recorder);
/* Main thread, once a turn. */
void ada_disk_turn(struct ada_recorder *recorder);
/* The end of a process may wait: the trouble began only just now. */
bool ada_disk_may_recover(const struct ada_recorder *recorder);
/* What trouble there was while the process was recorded; NULL: none. */
json_object *ada_json_disk_of(const struct ada_provider *provider);
#endif
