/* What processes and the machine use. */
#ifndef ADA_RECORDER_USAGE_H
#define ADA_RECORDER_USAGE_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Shares: 1 is all of the memory. False: not to be had. */
bool ada_usage_resident_bytes(pid_t pid, uint64_t *bytes);
/* The share of memory in use: of the machine, or of the process's memory cgroup that is nearest its limit, whichever is fuller. `root`:
 * "" or, for tests, the directory that holds proc and sys. */
bool ada_usage_memory_share(const char *root, pid_t pid, double *share);
#endif
