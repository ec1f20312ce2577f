/* What the recorder takes of a machine that has nothing to spare: whatever it uses there, programs would have used. On a machine with time to
 * spare nobody goes without. */
#ifndef ADA_RECORDER_OWN_H
#define ADA_RECORDER_OWN_H
#include <stdbool.h>
#include <stdint.h>

#define ADA_OWN_PERIOD_NS 1000000000ull

/* All zero: nothing is known yet. */
struct ada_own {
	uint64_t at_ns, cpu_ns; /* when it was looked at last, and the recorder's CPU time by then */
	uint64_t idle, all;	/* ticks of the machine's CPUs, of /proc/stat */
	bool full;		/* during the last period */
	double share;
};

/* Of the CPU time of all CPUs, in the last period, as far as two periods on end left next to nothing idle; else 0. */
double ada_own_share(struct ada_own *own, uint64_t now_ns);

/* What it is made of. Ticks of `text`, which is /proc/stat's. False: it isn't. */
bool ada_own_ticks(const char *text, uint64_t *idle, uint64_t *all);
void ada_own_note(struct ada_own *own, uint64_t now_ns, uint64_t cpu_ns, uint64_t idle, uint64_t all, double tick_ns);
#endif
