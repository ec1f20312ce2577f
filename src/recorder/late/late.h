/* Injects a call into a running process: its agent puts in hooks that are wanted only now (abi/wire.h, "Late patches"). */
#ifndef ADA_RECORDER_LATE_H
#define ADA_RECORDER_LATE_H
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/array.h"
#include "base/error.h"

struct ada_late_range {
	uint64_t start, end;
}; /* no thread may be at an address in [start, end) */
struct ada_late {
	pid_t pid;
	dev_t device;
	ino_t inode; /* of the segment: a process that no longer maps it has become another image */
	/* addresses as the agent tells them: only that process is at risk where they are wrong */
	uint64_t entry, stack, text_start, text_end;
	ADA_ARRAY(struct ada_late_range) ranges;
};
/* Stops the process, lets one of its threads run the agent's entry to its end, and lets all go on as they were. Tries for a few seconds.
 * 0, or -errno with the reason: then nothing has changed in the process but what the agent itself did. */
int ada_late_run(const struct ada_late *late, struct ada_error *error);
#endif
