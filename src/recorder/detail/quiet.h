/* When a post-roll in events ends although they don't come: after a second without any, as in a program that hangs. */
#ifndef ADA_RECORDER_QUIET_H
#define ADA_RECORDER_QUIET_H
#include <stdbool.h>
#include <stdint.h>

#define ADA_QUIET_NS 1000000000ull
#define ADA_QUIET_STEP_NS 50000000ull /* between two looks no more counts: a recorder that was held up has seen no quiet */

struct ada_quiet { /* all zero: nothing was seen yet */
	uint64_t committed, looked_ns, quiet_ns;
};

/* Looks at how many events there are by now. True: none came for a second. */
static inline bool ada_quiet_look(struct ada_quiet *quiet, uint64_t committed, uint64_t now_ns)
{
	uint64_t passed_ns = now_ns - quiet->looked_ns;

	if (!quiet->looked_ns || quiet->committed != committed)
		quiet->quiet_ns = 0;
	else
		quiet->quiet_ns += passed_ns < ADA_QUIET_STEP_NS ? passed_ns : ADA_QUIET_STEP_NS;
	quiet->committed = committed;
	quiet->looked_ns = now_ns;
	return quiet->quiet_ns >= ADA_QUIET_NS;
}
#endif
