/* How processes ended. */
#ifndef ADA_RECORDER_EXIT_H
#define ADA_RECORDER_EXIT_H
#include "recorder/state/state.h"

struct ada_exit_info ada_exit_of_status(int wait_status);
/* How a process ended that is not our child: from its zombie, or from the kernel's record behind its pidfd (Linux 6.15). */
struct ada_exit_info ada_exit_of_stranger(pid_t pid, int pidfd);
/* Main thread, before the index is drained for the last time: marks under `exit` where the process ended abnormally, and under
 * `signal` and `crash` where a signal ended it that the agent could not mark. */
void ada_exit_mark(struct ada_provider *provider);
int ada_exit_shell_status(const struct ada_exit_info *exit); /* 0..255; 128 + signal */
#endif
