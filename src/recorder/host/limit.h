/* How much memory the pools of a session may still take, so that they never bring a program to its limits: a quarter of what its control
 * groups leave (memory.max; memory.limit_in_bytes of version 1), and not the machine's last eighth. */
#ifndef ADA_RECORDER_LIMIT_H
#define ADA_RECORDER_LIMIT_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* `pid`: who would be charged. `used_bytes`: what the pools have taken already. */
uint64_t ada_limit_room(pid_t pid, uint64_t used_bytes);

/* Of a process and of the recorder, which as a rule are in the same groups. */
struct ada_limits {
	uint64_t room, own_room; /* as ada_limit_room */
	uint64_t own_left;	 /* what the control groups leave; UINT64_MAX: no limit, or none that can be read */
};
struct ada_limits ada_limits_of(pid_t pid, uint64_t used_bytes);
/* Whether it is in the recorder's own groups: then the recorder's limits are its limits. */
bool ada_limit_is_shared(pid_t pid);

/* A part of own_left: what is left in `root`/PATH and the directories above, by the names of one version's files; `groups` is the text of
 * /proc/PID/cgroup. UINT64_MAX: no limit. */
uint64_t ada_limit_groups_left(const char *groups, const char *root);
#endif
