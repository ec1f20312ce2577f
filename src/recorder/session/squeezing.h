/* Segments that were written raw, under pressure, are compressed behind the recording (squeeze/squeezer.h). */
#ifndef ADA_RECORDER_SQUEEZING_H
#define ADA_RECORDER_SQUEEZING_H
#include <stddef.h>

struct ada_recorder;

void ada_squeezing_turn(struct ada_recorder *recorder); /* main thread; waits for nothing */
/* The recording is over: goes on for about a second, or until a signal that ends programs comes, as by Ctrl-C. */
void ada_squeezing_settle(struct ada_recorder *recorder, int signals);
size_t ada_squeezing_left(const struct ada_recorder *recorder); /* segments that stay raw */
#endif
