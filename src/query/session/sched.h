/* When the threads of a session were off their CPUs, from its sched.atf: read when first asked for.
 *
 *   time     |----on----|--off--|--on--|--off (preempted)--|--on--
 *   spells              [0     ]       [1                 ]
 *
 * A thread is known from its first record on: the kernel follows it from its beginning. Where the oldest records have gone, one that leaves
 * its CPU first is known from the oldest that is there. Where records are missing nothing is known of any
 * thread from the last record before to the thread's next one; where files have gone between others that windows keep, from the last record
 * before to the first one behind, and of a thread that comes to a CPU next to that one of its. */
#ifndef ADA_QUERY_SESSION_SCHED_H
#define ADA_QUERY_SESSION_SCHED_H
#include "abi/sched.h"
#include "query/session/session.h"

struct ada_off_cpu {		 /* one spell */
	uint64_t from_ns, to_ns; /* to UINT64_MAX: it goes on where the records end */
	uint64_t before_ns;	 /* all spells before it together */
	uint64_t next_unknown;	 /* number of the first spell from this one on that is unknown; their count: none is */
	uint32_t other_tid;	 /* of a preemption: who got the CPU; 0: none of the session's, or not known */
	bool preempted;
	bool unknown; /* records are missing here: it may have run, and been off more than once */
	bool gap;     /* as files are: it ends with the first record behind them where the thread is on a CPU by then */
};

struct ada_faults {
	uint64_t ns, count, before; /* up to when; how many; all before them together */
};

struct ada_sched_thread { /* by the system's number: images of a process, and a number that was used again, share one */
	uint64_t first_ns;
	ADA_ARRAY(struct ada_off_cpu) spells; /* in order */
	ADA_ARRAY(struct ada_faults) faults;
};

/* NULL: the session has no such facts of the thread. By any thread; what it points to is the session's. */
const struct ada_sched_thread *ada_sched_of(const struct ada_thread *thread);
/* All records of the session, in order of time (atf/sched/sched_list.h); NULL: it has none. */
struct atf_sched_list;
const struct atf_sched_list *ada_sched_records(const struct ada_session *session);
/* Those of a lane, "sched" or "samples", to be closed by the caller. As atf_sched_list_open. */
int ada_sched_lane(struct atf_sched_list **list, const struct ada_session *session, const char *name, struct atf_message *message);
/* What is missing of them, as a sentence: that the lane rested (which 0), that records were lost (1), that the oldest went (2). False: nothing
 * is. */
#define ADA_SCHED_MISSING 3
bool ada_sched_missing(const struct ada_session *session, int which, char *text, size_t size);
struct ada_sched_view;
void ada_sched_view_close(struct ada_sched_view *view); /* NULL is fine */

/* Who had the CPU that the thread `tid` was taken off at the spell's beginning, between the two times within the spell: tells each stretch of
 * a thread of the session; what is left over others had, or nobody. */
void ada_sched_rivals(const struct ada_session *session, const struct ada_off_cpu *spell, uint32_t tid, uint64_t from_ns, uint64_t to_ns,
		      void (*had)(void *context, uint32_t tid, uint64_t ns), void *context);

/* How long the thread was off its CPU between the two times; false: not known. */
bool ada_sched_off_ns(const struct ada_sched_thread *sched, uint64_t from_ns, uint64_t to_ns, uint64_t *off_ns);
/* Whether it is known where the thread is from that time on, and until when. */
bool ada_sched_known(const struct ada_sched_thread *sched, uint64_t from_ns, uint64_t *until_ns);
/* Number of the first spell that ends behind the time; spells.count: none does. */
size_t ada_sched_spell(const struct ada_sched_thread *sched, uint64_t ns);
/* Page faults between the two times, of records that end there. */
uint64_t ada_sched_faults(const struct ada_sched_thread *sched, uint64_t from_ns, uint64_t to_ns);
#endif
