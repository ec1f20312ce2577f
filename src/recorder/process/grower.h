/* A thread that allocates the providers' shared memory ahead of use, so that neither they nor the drain wait for it. */
#ifndef ADA_RECORDER_GROWER_H
#define ADA_RECORDER_GROWER_H
#include "recorder/state/state.h"

struct ada_grower {
	struct ada_recorder *recorder;
	pthread_t thread;
	int wake; /* eventfd: a new provider, or the end */
	bool quit;
	bool running;
	/* The grower's own */
	size_t taken; /* how many of the recorder's providers are, or were, in `live` */
	ADA_ARRAY(struct ada_provider *) live;
	uint64_t bytes;		   /* of their pools, at the last turn */
	uint64_t own_room, own_ns; /* how much the recorder may be charged with, and when that was asked */
	bool unlimited;		   /* the recorder's groups had no limit then */
	uint64_t now_ns;
	unsigned asked; /* in this turn */
	bool limited;	/* the limits of some have to be asked for all the time */
	unsigned calm;	/* turns since anything grew */
};

int ada_grower_open(struct ada_grower *grower, struct ada_recorder *recorder, struct ada_error *error);
void ada_grower_wake(struct ada_recorder *recorder); /* any thread: a process is about to record */
/* Whether it naps, and would have looked by `now_ns` if it didn't: then whoever sees that a process stirs, or has come, wakes it. */
bool ada_grower_naps(const struct ada_recorder *recorder, uint64_t now_ns);
void ada_grower_rouse(struct ada_recorder *recorder);
/* True where the recorder's control groups had no limit when that was asked last, a moment before `now_ns`; *room: of the machine. */
bool ada_grower_unlimited(const struct ada_recorder *recorder, uint64_t now_ns, uint64_t *room);
void ada_grower_close(struct ada_grower *grower);
#endif
