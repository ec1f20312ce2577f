/* Notes what the descriptors of marked processes lead to, soon behind the mark, into pid_N/descriptors.json (docs/format.md). A thread of its own
 * looks, begun at the first mark, and takes a fiftieth of a CPU at most: neither the drain nor the program waits for it. Where marks come
 * faster than it looks, one look is for several. */
#ifndef ADA_RECORDER_NOTER_H
#define ADA_RECORDER_NOTER_H
#include "recorder/state/state.h"

struct ada_noter;
/* NULL, and nothing is noted: no memory, or nothing that pointers lead to is to be recorded (--capture=off). */
struct ada_noter *ada_noter_open(struct ada_recorder *recorder);
/* Main thread, of a process that was marked. It has a look soon, and is forgotten where it ends before. NULL is fine. */
void ada_noter_ask(struct ada_noter *noter, struct ada_provider *provider);
void ada_noter_close(struct ada_noter *noter); /* what wasn't looked at yet is left out. NULL is fine */
#endif
