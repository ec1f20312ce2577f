/* Segments that were written raw, under pressure, are compressed behind the recording (squeeze/squeezer.h). */
#ifndef ADA_RECORDER_SQUEEZING_H
#define ADA_RECORDER_SQUEEZING_H

struct ada_recorder;

void ada_squeezing_turn(struct ada_recorder *recorder); /* main thread; waits for nothing */
#endif
