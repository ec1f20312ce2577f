/* How much memory the pools of a session may still take, so that they never are what brings a program to its limits: a quarter of
 * what the control groups leave it (memory.max; memory.limit_in_bytes of version 1), and not the machine's last eighth. */
#ifndef ADA_RECORDER_LIMIT_H
#define ADA_RECORDER_LIMIT_H
#include <stdint.h>
#include <sys/types.h>

/* `pid`: who would be charged. `used_bytes`: what the pools have taken already. */
uint64_t ada_limit_room(pid_t pid, uint64_t used_bytes);

uint64_t ada_limit_left(pid_t pid); /* what its control groups leave it; UINT64_MAX: no limit, or not to be read */

/* A part of it: what is left below `root`/PATH and the directories above it, by the names of one version's files; the groups of a
 * process are as in /proc/PID/cgroup. UINT64_MAX: no limit. */
uint64_t ada_limit_groups_left(const char *groups, const char *root);
#endif
