/* Rules that name no function: of the process's CPU time and memory, the machine's memory, the time of day. The main thread looks at them
 * five times a second, only where there are such rules. */
#ifndef ADA_RECORDER_SAMPLE_H
#define ADA_RECORDER_SAMPLE_H
#include "recorder/state/state.h"

struct ada_sampler;
struct ada_sampler *ada_sampler_open(struct ada_recorder *recorder); /* NULL: no memory */
void ada_sampler_turn(struct ada_sampler *sampler, uint64_t now_ns);
void ada_sampler_close(struct ada_sampler *sampler);
#endif
