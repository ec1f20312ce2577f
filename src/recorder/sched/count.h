/* What the system counts of a thread's time, of a control group's and of the machine's, as /proc and the groups' files tell it. */
#ifndef ADA_RECORDER_SCHED_COUNT_H
#define ADA_RECORDER_SCHED_COUNT_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ada_thread_counts {
	uint64_t ran_ns, ready_ns, minor, major;
	uint16_t cpu; /* that it ran on last */
};
/* From schedstat; `tasks`: a descriptor of /proc/PID/task. False: the thread is gone, or the kernel doesn't count that. */
bool ada_count_time(int tasks, pid_t tid, struct ada_thread_counts *counts);
/* The rest, from stat. */
bool ada_count_faults(int tasks, pid_t tid, struct ada_thread_counts *counts);

/* Ticks of each CPU that a hypervisor had, from /proc/stat, as ns; how many CPUs there are, at most `max`. */
size_t ada_count_stolen(uint64_t *stolen_ns, size_t max);

/* The files cpu.stat of the control groups that this process is in, up to the root. */
#define ADA_GROUPS_MAX 8
struct ada_groups {
	int files[ADA_GROUPS_MAX];
	size_t count;
};
/* `proc` and `groups`: "/proc" and "/sys/fs/cgroup", or what stands for them. */
void ada_groups_open(struct ada_groups *groups, const char *proc, const char *hierarchy);
void ada_groups_close(struct ada_groups *groups);
/* For how long they have been held up by limits of theirs, all together. */
uint64_t ada_groups_throttled(const struct ada_groups *groups);
#endif
