/* Keeps a session within --disk-limit and --max-age while it is recorded (bound/bound.h). Main thread. */
#ifndef ADA_RECORDER_AGING_H
#define ADA_RECORDER_AGING_H
#include <stdbool.h>
#include <stdint.h>

struct ada_recorder;

/* In each turn; `quiet`: twice a second, this is one that also looks at threads which write little. Without a limit it does nothing. */
void ada_aging_turn(struct ada_recorder *recorder, uint64_t now_ns, bool quiet);
/* All providers are finished: lets go what the last files have made too much. */
void ada_aging_settle(struct ada_recorder *recorder);
/* Waits for what is on its way, so that manifests say so; nothing goes until the end. */
void ada_aging_end(struct ada_recorder *recorder);
#endif
