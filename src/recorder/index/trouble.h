/* A disk that can't take what is written just now: it is full, a quota is used up, it fails, it has become read-only. A sink that is
 * patient (ada_sink_be_patient) keeps the blocks that it couldn't write, and tries again, at longer and longer intervals:
 *
 *             a write fails                        the oldest block is written, and all others
 *   sound  ------------------>  troubled  ------------------------------------------------------>  sound
 *     takes blocks                takes blocks too, and keeps them in their order;
 *                                 whoever would wait for room in a file gets EAGAIN, and comes again
 *
 * Meanwhile the drain leaves chunks where they are (drain_hold.h), so that the program records into the rest of the pool. A sink that is
 * told to insist gives trouble some time to pass, and then lets blocks fail for good: at the end of a process somebody has to.
 */
#ifndef ADA_RECORDER_TROUBLE_H
#define ADA_RECORDER_TROUBLE_H
#include <stdbool.h>
#include <stdint.h>
#include "atf.h"
#include "base/array.h"

#define ADA_TROUBLE_PATIENCE_NS 2000000000ull /* so long an end waits for a disk, from where its trouble began */

struct ada_trouble {
	int error;			       /* -errno of the last failure; 0: sound */
	uint64_t since_ns, until_ns, first_ns; /* of the last trouble (until_ns 0: it lasts), and when the first one began; boottime */
	uint64_t count;			       /* how often there was trouble */
	int last_error;			       /* -errno of the last trouble, also when it is over */
	uint64_t pause_ns, next_ns;	       /* between tries, and when the next one is due */
	bool probes;			       /* nothing is held: what is written next tells whether the trouble is over */
	ADA_ARRAY(struct atf_block *) held;    /* in the order in which they came */
};

/* Whether that -errno says that the disk can't now, and may later. */
bool ada_trouble_is(int error);
void ada_trouble_begin(struct ada_trouble *trouble, int error); /* or goes on */
/* As far as one can know: with `probes`, trouble that comes before anything was written is the same one. */
void ada_trouble_end(struct ada_trouble *trouble, bool probes);
static inline void ada_trouble_wrote(struct ada_trouble *trouble)
{
	trouble->probes = false;
}
bool ada_trouble_due(const struct ada_trouble *trouble);      /* the next try is */
bool ada_trouble_is_young(const struct ada_trouble *trouble); /* younger than ADA_TROUBLE_PATIENCE_NS */
#endif
