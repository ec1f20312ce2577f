/* A thread that allocates the providers' shared memory ahead of use, so that neither they nor the drain wait for it. */
#ifndef ADA_RECORDER_GROWER_H
#define ADA_RECORDER_GROWER_H
#include "recorder/state.h"

struct ada_grower {
	struct ada_recorder *recorder;
	pthread_t thread;
	int wake;			/* eventfd: a new provider, or the end */
	bool quit;
	bool running;
	/* The grower's own */
	size_t taken;			/* of the recorder's providers: those that are, or were, in `live` */
	ADA_ARRAY(struct ada_provider *) live;
};

int ada_grower_open(struct ada_grower *grower, struct ada_recorder *recorder, struct ada_error *error);
void ada_grower_wake(const struct ada_recorder *recorder);	/* any thread: a process is about to record */
void ada_grower_close(struct ada_grower *grower);
#endif
