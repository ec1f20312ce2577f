/* What the recorder takes of a machine that has nothing to spare: whatever it uses there, programs would have used. On a machine with time to
 * spare nobody goes without. A server and its clients that wait for each other leave up to a tenth idle of a machine that they fill; where one
 * client has a server of one thread, a sixth, though each turn of the recorder delays them all the same. */
#ifndef ADA_RECORDER_OWN_H
#define ADA_RECORDER_OWN_H
#include <stdbool.h>
#include <stdint.h>

#define ADA_OWN_PERIOD_NS 1000000000ull

/* All zero: nothing is known yet. */
struct ada_own {
	uint64_t at_ns, cpu_ns; /* when it was looked at last, and the recorder's CPU time by then */
	uint64_t idle, all;	/* ticks of the machine's CPUs, of /proc/stat */
	bool scarce;		/* less than a tenth idled in the last period */
	bool full;		/* less than a fifth did; or it was full before, and less than a third did */
	bool leaves; /* it is full, and a twentieth or more idled: who is in the background (background.h) has a CPU now and then */
	double share;
};

/* Of the CPU time of all CPUs, in the last period, as far as two periods on end left less than a tenth idle; else 0. `cpu_ns`: what the
 * recorder has used so far. `root`: "" or, for tests, the directory that holds proc. */
double ada_own_share(struct ada_own *own, const char *root, uint64_t now_ns, uint64_t cpu_ns);
#endif
