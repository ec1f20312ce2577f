/* Why a call took long: where its time went, down to the innermost call that waited or ran, and who ended a wait.
 *
 * The answer is a chain of links. The first link is the call asked for; each further link is what the holder of the link before waited
 * for meanwhile. The chain ends with a thread that waited for no other, or with one that is in the chain already: then it is a deadlock.
 * docs/inside/cause.md says by which rules somebody is blamed.
 *
 * One reader answers many questions, one after another; not for several threads at once. */
#ifndef ADA_QUERY_CAUSE_H
#define ADA_QUERY_CAUSE_H
#include "query/calls/calls.h"
#include "query/calls/stack.h"
#include "query/session/session.h"

enum ada_cause_kind {
	ADA_CAUSE_UNKNOWN,
	ADA_CAUSE_LOCK,	     /* another thread held the object */
	ADA_CAUSE_DEADLOCK,  /* the same, in a cycle */
	ADA_CAUSE_CONDITION, /* for somebody's signal, post, arrival or end */
	ADA_CAUSE_SLEEP,
	ADA_CAUSE_IO,
	ADA_CAUSE_CHILD,
	ADA_CAUSE_MESSAGE,
	ADA_CAUSE_CPU,
	ADA_CAUSE_PREEMPTED, /* ready to run, and another had the CPU */
	ADA_CAUSE_RUNQUEUE,  /* the same, and nobody knows who had it */
	ADA_CAUSE_STEAL,     /* a hypervisor had the CPU */
	ADA_CAUSE_THROTTLED, /* a limit of the control group kept it from running */
	ADA_CAUSE_FAULT,     /* ran for page faults, or waited for them */
	ADA_CAUSE_RECORDER,  /* for ada */
	ADA_CAUSE_KINDS
};
const char *ada_cause_kind_name(enum ada_cause_kind kind);

#define ADA_BESIDE 2
struct ada_beside { /* what ran, besides the largest part */
	uint64_t function_id, ns, spells;
};

/* Why a thread waited or ran, between two times. */
struct ada_cause_link {
	const struct ada_thread *thread;
	uint64_t position, function_id; /* the call asked for; of later links, the innermost call */
	uint64_t start_ns, end_ns;	/* of that call; of later links, the time meanwhile which it explains */
	bool open;			/* the call goes on where the recording ends */
	uint64_t look_ns; /* a call that goes on, and in which the thread runs: what follows is of so much before the mark; else 0 */
	struct ada_beside beside[ADA_BESIDE]; /* of such: the next largest parts of that time; ns 0: none */
	bool part;			      /* of later links: too many events lie in that time, these are a part of it */

	enum ada_cause_kind kind;
	uint64_t recorder_ns; /* of its time: so much was ada's own, in whatever it was in then */
	uint64_t spent_ns;    /* in all calls of the kind, on the object */
	uint64_t spells;      /* how many */
	uint64_t faults;      /* page faults in the longest of them */
	uint64_t ran_ns;      /* for how long the longest of them ran, however long it was kept from that; 0: not known */
	uint64_t returns;     /* the longest is a loop of waits for a condition: so many ended before the last, and it waited again */
	bool off_cpu;	      /* of ADA_CAUSE_UNKNOWN: it did not run, and nothing says what for */
	/* The longest of them: a call below the one asked for, or that call itself. */
	uint64_t wait_position, wait_function_id;
	uint64_t wait_start_ns, wait_end_ns;
	bool wait_open;
	struct ada_stack path; /* calls open around and with it, outermost first */

	bool has_object;
	bool stream;	 /* the object is a stream that somebody had locked */
	uint64_t object; /* address, or the descriptor of I/O and messages */
	char *opened;	 /* of a descriptor: the path that was opened as it; NULL: not known */
	bool counter;	 /* the descriptor is known to be an eventfd */
	char *peer;	 /* of a socket: the address that it was connected to; NULL: not known */
	char *noted;	 /* what the descriptor led to when the recorder looked, where no call says so: noted.h; NULL: not known */
	uint64_t noted_ns;
	bool connected; /* whom the descriptor connects with is known: a peer, or other ends of a pipe or of a pair of sockets */
	/* Of a lock the holder, else who ended the wait; NULL: not known. */
	const struct ada_thread *culprit;
	uint64_t culprit_start_ns, culprit_end_ns; /* held from, to; of a condition: the wait's start, and its end by the culprit */
	uint64_t culprit_first, culprit_last;	   /* the events that show it */
	bool culprit_open;			   /* still held where the recording ends */
	bool culprit_longer;			   /* held from `culprit_start_ns` on at least: nobody read further back */
	struct ada_stack culprit_path;		   /* the calls open when it took the object, or ended the wait */
	uint64_t holders;		 /* threads that held the object, or had the CPU, meanwhile, one after another or together */
	uint64_t holds, held_ns;	 /* how often they held the object meanwhile, for how long in all */
	uint64_t had_ns;		 /* of a preemption: for how long the culprit had the CPU */
	bool joined;			 /* a join that goes on: the culprit is the thread whose end it waits for */
	bool came_before;		 /* the culprit's signal came before the wait began: a lost wake-up */
	bool once;			 /* the object is one of pthread_once: who holds it runs the initialiser */
	bool woken;			 /* of a futex: the culprit woke the thread; who held it, if anybody, is not recorded */
	bool gave_up;			 /* the wait ended by its time limit */
	const struct ada_process *child; /* that it waited for, or whose output it waited for; NULL: none, or not known */
	char *command;			 /* of a child that is a shell: what it ran; NULL: not known */
};

struct ada_cause_reader;
struct ada_cause {
	struct ada_cause_reader *reader; /* that found it */
	bool found;			 /* the call is one whose end is known, or that is still open */
	ADA_ARRAY(struct ada_cause_link) links;
	bool deadlock;
	size_t cycle; /* of a deadlock: the first link that belongs to the cycle; the last one leads back to it */
};

/* NULL: no memory. The session must stay open. */
struct ada_cause_reader *ada_cause_reader_open(const struct ada_session *session);
void ada_cause_reader_close(struct ada_cause_reader *reader); /* also of NULL */

/* Why the call of which `position` is the CALL or the end took its time. 0, -ENOMEM, or -EINTR once ada_interrupted(). The caller frees
 * the cause, also after an error. */
int ada_cause_find(struct ada_cause_reader *reader, const struct ada_thread *thread, uint64_t position, struct ada_cause *cause);
/* What its thread did from that time up to the event at `position`, which has the first link's function: start and end are those times. */
int ada_cause_since(struct ada_cause_reader *reader, const struct ada_thread *thread, uint64_t position, uint64_t from_ns,
		    struct ada_cause *cause);
/* Whose end the call at `position` waits for, which is one that joins a thread and open at `ns`. NULL: it joins none, or not known. */
const struct ada_thread *ada_cause_awaited(const struct ada_thread *thread, uint64_t position, uint64_t ns);
/* What samples prove of most of that time, whatever the thread was in: that it ran (ADA_CAUSE_CPU), met faults, or lacked a CPU; else UNKNOWN. */
enum ada_cause_kind ada_cause_lately(struct ada_cause_reader *reader, const struct ada_thread *thread, uint64_t from_ns, uint64_t to_ns);
void ada_cause_free(struct ada_cause *cause);
/* Whom the chain ends with: its last link. The cause as a whole is of that link's thread, where it isn't the first. */
const struct ada_cause_link *ada_cause_root(const struct ada_cause *cause);
enum ada_cause_kind ada_cause_kind_of(const struct ada_cause *cause);
/* The innermost function of a path that the program itself has, rather than a library; ADA_NO_FUNCTION: none. */
uint64_t ada_cause_own_function(struct ada_cause_reader *reader, const struct ada_process *process, const struct ada_stack *path);

/* Who is to blame for the whole: of a chain its end, of a sleep or I/O the thread itself; thread NULL: not known. The path is the cause's.
 * Times: how long the object was held, or from the wait's beginning to what ended it. Kind: what most of its time went to meanwhile; UNKNOWN:
 * not one thing, or nobody knows. */
struct ada_culprit {
	const struct ada_thread *thread;
	const struct ada_stack *path;
	uint64_t start_ns, end_ns;
	enum ada_cause_kind kind;
	const struct ada_thread *rival; /* who had the CPU that the culprit lacked; NULL: it lacked none, or not known */
	const struct ada_stack *rival_path;
};
void ada_cause_culprit(const struct ada_cause *cause, struct ada_culprit *culprit);

#define ADA_CAUSE_OBJECT 40
/* Of a link that has one: "0x7f...", "descriptor 3"; fills and returns `text`. */
char *ada_cause_object_text(const struct ada_cause_link *link, char text[ADA_CAUSE_OBJECT]);
/* For how long it took, as durations have it: without what ada took, but where that is the cause. */
uint64_t ada_cause_took(const struct ada_cause_link *link);
double ada_cause_share(const struct ada_cause_link *link); /* of that time, what its waits explain, to six digits */
/* "main > work > leaf", in short or full names; malloc'ed, NULL: no memory. */
char *ada_cause_path_text(const struct ada_process *process, const struct ada_stack *path, bool full_names);
/* The same of a path of the cause, with what is known of the arguments of its innermost function that is no library's, and of its last call:
 * "main > compact(round=9) > usleep(useconds=50000)". The cause's reader must be open. */
char *ada_cause_calls_text(const struct ada_cause *cause, const struct ada_thread *thread, const struct ada_stack *path, bool full_names);

/* The call that a mark is about: of an event of a thread the call that it begins or ends, of a rule from one call to another what the thread
 * of the latter did since the former; of `ada mark` and what else marks a process, the
 * open call that waits for something that doesn't come: in a deadlock, else for a lock, else for a signal that came too early; else the
 * innermost one that has lasted for a second, of the thread that ran most of the last second; else, of a mark by hand, the only one that has waited so
 * long for somebody whom its descriptor connects with. False: there is none. 0, -ENOMEM or -EINTR. */
int ada_cause_of_mark(struct ada_cause_reader *reader, const struct ada_process *process, const json_object *mark, struct ada_cause *cause);

/* The same for a process that nobody marked: what it hangs in at its end, or now. That a thread runs has to be proven. */
int ada_cause_of_hang(struct ada_cause_reader *reader, const struct ada_process *process, struct ada_cause *cause);

/* What the open call that begins at `position` waits on, where that is a descriptor: kind, object and what it leads to. False: it is none, or
 * not known. The caller frees the link's texts by ada_cause_link_free. */
bool ada_cause_waits_on(struct ada_cause_reader *reader, const struct ada_thread *thread, uint64_t position, uint64_t now_ns,
			struct ada_cause_link *link);
void ada_cause_link_free(struct ada_cause_link *link);

/* --- all waits (waits.c) ------------------------------------------------------------------------------------------------ */

#define ADA_WAIT_MIN_NS 1000 /* shorter calls are no waits */

struct ada_wait {
	const struct ada_thread *thread, *ended_by; /* NULL: nobody known */
	const struct ada_thread *joined;	    /* of a join, also while it goes on: whose end it waits for; NULL: not known */
	uint64_t position, end_position, start_ns, end_ns, object;
	uint64_t ended_by_position;
	enum ada_cause_kind kind;
	uint8_t does; /* internal.h */
	bool open, has_object;
};
struct ada_waits {
	ADA_ARRAY(struct ada_wait) items; /* by thread and by end */
};
/* All calls that waited for at least ADA_WAIT_MIN_NS, of these threads. `enders`: also says who ended them. 0, -ENOMEM or -EINTR. */
int ada_waits_find(struct ada_cause_reader *reader, struct ada_thread *const *threads, size_t count, bool enders, struct ada_waits *waits);
void ada_waits_free(struct ada_waits *waits);
#endif
