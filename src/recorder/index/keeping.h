/* What a recorder gives to the process that is to finish its session should it die (recover/keeper.h): src/recorder knows only that there
 * may be one. */
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

void ada_keeping_end(pid_t keeper); /* all is on the disk: it goes, and is waited for. Nothing where there is none (not above 0) */
#endif
