/* Pools that fit into what a process's limit of address space (RLIMIT_AS) leaves: the program's own mappings come first. */
#ifndef ADA_RECORDER_SPACE_H
#define ADA_RECORDER_SPACE_H
#include <sys/types.h>
#include "recorder/index/segment.h"

/* Bytes that the process may still map; UINT64_MAX: no limit, or we may not ask. */
uint64_t ada_space_left(pid_t pid);
/* Makes the buffers smaller until a segment and what else the agent maps take a third of `left` at most. 0; -ENOMEM where there
 * is no room for the smallest. */
int ada_space_fit(struct ada_segment_options *options, uint64_t left, struct ada_error *error);
#endif
