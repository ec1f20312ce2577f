/* What a recorder gives to the process that finishes the session should the recorder die (recover/keeper.h): src/recorder knows only that
 * there may be one. */
#ifndef ADA_RECORDER_KEEPING_H
#define ADA_RECORDER_KEEPING_H
#include <sys/types.h>
#include "recorder/index/shared.h"

struct ada_keeping {
	struct ada_shared shared;
	int arena;   /* the one of the lock; -1: there is none */
	int session; /* the session's directory, locked */
};
typedef pid_t ada_keep(const struct ada_keeping *keeping);

/* All is on the disk: ends the keeper and waits for its end. Does nothing without a keeper (not above 0). */
void ada_keeping_end(pid_t keeper);
#endif
