/* Parts of the room: what a function does to an object, and the operations on one, read backwards. */
#ifndef ADA_QUERY_CAUSE_INTERNAL_H
#define ADA_QUERY_CAUSE_INTERNAL_H
#include "base/hash.h"
#include "query/cause/cause.h"
#include "query/noted/noted.h"

struct atf_sched;

/* What a function does. */
enum ada_does {
	ADA_DOES_NOTHING = 1, /* that this room knows */
	ADA_DOES_LOCK,
	ADA_DOES_TRY,	   /* takes it or doesn't, and never waits: only attempts one after another do */
	ADA_DOES_TRY_LOCK, /* waits for it, and may not take it: locking with a time limit */
	ADA_DOES_UNLOCK,
	ADA_DOES_COND_WAIT,
	ADA_DOES_SIGNAL,
	ADA_DOES_SEM_WAIT,
	ADA_DOES_SEM_POST,
	ADA_DOES_BARRIER,
	ADA_DOES_JOIN,
	ADA_DOES_FUTEX,
	ADA_DOES_ONCE, /* runs the initialiser, or waits for the thread that does */
	ADA_DOES_ALLOCATE,
	ADA_DOES_SLEEP,
	ADA_DOES_IO, /* its first argument is the descriptor; likewise MESSAGE */
	ADA_DOES_IO_OTHER,
	ADA_DOES_STREAM_1, /* like IO_OTHER, under the lock of the stream that is its first argument; likewise the others */
	ADA_DOES_STREAM_2,
	ADA_DOES_STREAM_3,
	ADA_DOES_STREAM_4,
	ADA_DOES_MESSAGE,
	ADA_DOES_COUNTER_WAIT,	/* like MESSAGE, of an eventfd */
	ADA_DOES_COUNTER_WRITE, /* likewise, and what ends waits for it */
	ADA_DOES_WRITE,		/* like IO; of an eventfd like COUNTER_WRITE */
	ADA_DOES_MESSAGE_OTHER,
	ADA_DOES_POLL,		/* like MESSAGE, where it is for one descriptor, which its first argument points at */
	ADA_DOES_CONNECT,	/* like MESSAGE, and gives the descriptor its peer */
	ADA_DOES_ACCEPT,	/* like MESSAGE; its result is another descriptor */
	ADA_DOES_CHILD,		/* its result is the child's pid, or less */
	ADA_DOES_COMMAND,	/* runs its first argument in a shell, and waits for that */
	ADA_DOES_OPEN_COMMAND,	/* the same, without a wait: its result is a stream */
	ADA_DOES_CLOSE_COMMAND, /* waits for the command of its first argument, such a stream */
	ADA_DOES_OPEN,		/* waits like IO_OTHER; its result is a descriptor of the path that is its first argument */
	ADA_DOES_OPEN_AT,	/* its second */
	ADA_DOES_CLOSE,
	ADA_DOES_CLOSE_STREAM,	  /* waits like IO_OTHER, and closes like CLOSE_ANY */
	ADA_DOES_CLOSE_ANY,	  /* of descriptors that its arguments don't tell */
	ADA_DOES_REPLACE,	  /* makes its second argument another file's */
	ADA_DOES_MAKE_COUNTER,	  /* its result is an eventfd */
	ADA_DOES_MAKE_DESCRIPTOR, /* its result is one, or may be, of no path that is known */
};
/* By the name of the function, mangled, without a version behind '@'. */
enum ada_does ada_does_of_name(const char *name);
/* What a call of such a function waits for. ADA_CAUSE_UNKNOWN: none waits. */
enum ada_cause_kind ada_does_wait(enum ada_does does);
/* Whether the call may end without having taken its object. */
bool ada_does_attempt(enum ada_does does);
/* Whether an argument is a stream, which the function locks. */
bool ada_does_to_stream(enum ada_does does);
/* Whether the first argument is a descriptor. */
bool ada_does_to_descriptor(enum ada_does does);

#define ADA_RAN_EVENT_NS 20000	     /* a thread that has an event so often, on average, ran */
#define ADA_CAUSE_BUDGET (24u << 20) /* events read for one question at most, of 32 bytes each: some 100 ms */
struct ada_cause_reader {
	const struct ada_session *session;
	uint8_t **does; /* by module of the session and symbol; 0: not asked for yet */
	uint32_t *counts;
	uint64_t budget;		/* events that may still be read for this question */
	struct atf_sched_list *samples; /* NULL: there are none, or nobody asked yet */
	bool asked_samples;
	struct ada_noted *noted; /* of this process; NULL: nothing was noted of it */
	const struct ada_process *noted_of;
	struct ada_life *lives; /* of this process's threads; NULL: there was no memory, or nobody asked yet */
	const struct ada_process *lives_of;
};
enum ada_does ada_cause_does(struct ada_cause_reader *reader, const struct ada_process *process, uint64_t function_id);
/* The object of the call at `position`, from the events behind it or from its detail. `which`: 0, or 1 for the mutex of a wait for a
 * condition. False: not recorded. */
bool ada_cause_object(const struct ada_thread *thread, uint64_t position, enum ada_does does, unsigned int which, uint64_t *object);
/* Whether an event behind the CALL names its object. */
bool ada_cause_has_object(const struct ada_thread *thread, uint64_t position);
/* The tid of who holds the mutex that the CALL waits for, as an event behind it says. */
bool ada_cause_told_holder(const struct ada_thread *thread, uint64_t position, uint32_t *tid);
/* The end of the call at `position`; UINT64_MAX: none before the event `limit`. */
uint64_t ada_cause_end(const struct ada_thread *thread, uint64_t position, uint64_t limit);
/* What a call returned, its lower half; 0: not known. */
uint32_t ada_cause_result(const struct ada_thread *thread, uint64_t position);
/* Whether the call's result says that its time limit passed: false also where nobody knows. */
bool ada_cause_gave_up(const struct ada_thread *thread, uint64_t position, enum ada_does does);
/* Whether those who called a futex's wait are known to wait for somebody's signal, rather than for a lock. */
bool ada_futex_is_condition(const struct ada_process *process, const struct ada_stack *path);
/* What was noted of the process's descriptors; NULL: nothing. Holds until it is asked for another process. */
const struct ada_noted *ada_cause_noted(struct ada_cause_reader *reader, const struct ada_process *process);
/* Whether events of the thread may lie between the two times: not where its first is later, or its last earlier. */
bool ada_cause_lived(struct ada_cause_reader *reader, const struct ada_thread *thread, uint64_t from_ns, uint64_t to_ns);
/* The thread of that tid, at that time: tids come again. NULL: none has events. */
const struct ada_thread *ada_cause_thread_of(struct ada_cause_reader *reader, const struct ada_process *process, uint32_t tid, uint64_t ns);
/* Takes so many events off the budget; false where it is used up. */
bool ada_cause_pay(struct ada_cause_reader *reader, uint64_t events);

/* --- operations on one object, from a time back (back.c) ---------------------------------------------------------------- */

struct ada_back {
	struct ada_cause_reader *reader;
	const struct ada_thread *thread;
	uint64_t object, at; /* the events before this position are not read yet */
	uint64_t read;
	bool by_detail; /* no event tells objects: detail records do */
	bool exhausted; /* the budget ended before the thread's events */
};
struct ada_operation {
	uint64_t position, ns; /* of its CALL */
	uint64_t function_id;
	enum ada_does does;
	bool as_mutex; /* a wait for a condition, and the object is the mutex that it gives back meanwhile */
};
/* The next operation back whose CALL lies at from_ns or later. False: none. */
bool ada_back_next(struct ada_back *back, uint64_t from_ns, struct ada_operation *operation);

/* --- who held an object, who ended a wait (hold.c, wake.c) -------------------------------------------------------------- */

struct ada_hold {
	const struct ada_thread *thread;
	uint64_t start_ns, end_ns; /* as far as it lies before the end of the time asked for */
	uint64_t first, last;	   /* the CALL that took it, and the one that gave it back (or UINT64_MAX: held on) */
	uint64_t overlap_ns;
	bool partly;   /* it may have begun earlier: `first` is the first event that was read */
	bool filtered; /* `first` is the last event up to start_ns, and no operation on the object */
};
struct ada_holds {
	struct ada_hold longest; /* thread NULL: nobody known */
	uint64_t threads;
	uint64_t times, overlap_ns; /* of all holds, one after another or together */
	bool exhausted;
};
/* Of one more hold. */
void ada_cause_add_hold(struct ada_holds *holds, const struct ada_hold *hold);
struct ada_question { /* of a thread's wait for an object */
	const struct ada_thread *thread;
	uint64_t object, from_ns, to_ns;
	bool open; /* the wait goes on at to_ns */
	bool by_detail;
	bool mutex;	   /* the object is a mutex, calls of whose functions may have been filtered */
	uint64_t position; /* of the CALL that waits */
};
/* 0 or -ENOMEM. */
int ada_cause_holds(struct ada_cause_reader *reader, const struct ada_question *question, struct ada_holds *holds);
/* Likewise, of a wait to read or write a stream: who had locked it for most of that time kept the thread from it. The lock that functions of
 * libc take themselves nobody sees: where nobody else had it, it was input or output, as far as is known, and the holds are empty. */
int ada_cause_stream_holds(struct ada_cause_reader *reader, struct ada_question *question, struct ada_holds *holds);
/* Whether the thread that waits holds the object itself: nobody else was found to. Adds to *holds. */
void ada_cause_own_hold(struct ada_cause_reader *reader, const struct ada_question *question, struct ada_holds *holds);
/* As ada_cause_holds, of a mutex whose wait lies, in part at least, where its calls were filtered. `before`: who is known by calls to have had it at the
 * wait's beginning; thread NULL: nobody. */
int ada_cause_holds_filtered(struct ada_cause_reader *reader, const struct ada_question *question, const struct ada_hold *before,
			     struct ada_holds *holds);
/* Whether the mutex itself said that the thread which waits for it holds it; then, that hold: where it was taken is not known. */
bool ada_cause_told_itself(const struct ada_question *question);
void ada_cause_hold_itself(const struct ada_question *question, struct ada_holds *holds);
bool ada_cause_is_mutex(const struct ada_process *process, uint64_t function_id);
/* Which other thread ran the initialiser meanwhile. 0, -ENOMEM or -EINTR. */
int ada_cause_initialiser(struct ada_cause_reader *reader, const struct ada_question *question, struct ada_holds *holds);
/* The last operation of another thread that ended such a wait; NULL: none in that time. `before`: the last one before it, instead. */
const struct ada_thread *ada_cause_waker(struct ada_cause_reader *reader, const struct ada_question *question, enum ada_does does,
					 bool before, struct ada_operation *by);
/* Whether some thread was waiting for the object at that time: then what was signalled there woke it, and is not lost. */
bool ada_cause_consumed(struct ada_cause_reader *reader, const struct ada_question *question, enum ada_does does, uint64_t ns);
/* Whether the thread's last event lies between them. */
bool ada_cause_ended_meanwhile(const struct ada_thread *thread, uint64_t from_ns, uint64_t to_ns);
/* Which thread of the process ended between two times: the only one that did or, of several, the one that was waited for at `object`, its
 * pthread_t, as far as its detail shows. `exact`: it is known to be one, so that no thread with another is meant. NULL: not known. */
const struct ada_thread *ada_cause_ended(const struct ada_thread *but, uint64_t from_ns, uint64_t to_ns, const uint64_t *object,
					 bool exact);
/* Which thread of the process has the pthread_t `object` while another joins it from from_ns to to_ns, as the manifest has it. NULL: not
 * known. */
const struct ada_thread *ada_cause_joined(const struct ada_thread *by, uint64_t object, uint64_t from_ns, uint64_t to_ns);
/* What the link waited on (opened.c): the path that was opened as its descriptor, or the address that it was connected to, as the detail
 * before the wait has it, else as the recorder found it at a mark, link->noted; whether it is an eventfd. Leaves NULL what is not known. */
void ada_cause_descriptor(struct ada_cause_reader *reader, struct ada_cause_link *link, enum ada_does does);
/* Whether the event, of a function that does that, may change what the descriptor is. *known: it is an open or what makes an eventfd, of which
 * the descriptor is the result, or a connect. */
bool ada_cause_changes_descriptor(const struct ada_thread *thread, uint64_t position, enum ada_does does, uint64_t descriptor, bool *known);
/* Whether calls that change descriptors or streams, or write, are missing of some of that time (opened.c). */
bool ada_cause_changes_muted(struct ada_cause_reader *reader, const struct ada_process *process, uint64_t from_ns, uint64_t to_ns);
/* Who wrote to the eventfd that the link waited for (wake.c): the only thread that did meanwhile. False: nobody, several, or nobody knows. */
bool ada_cause_writer(struct ada_cause_reader *reader, const struct ada_cause_link *link, const struct ada_thread **writer,
		      uint64_t *position);
/* The child that the link waited for, and its command line where a shell runs that: of waits, system and pclose, and of those for a stream of
 * popen's. Leaves link->child and link->command NULL where they are not known. */
void ada_cause_child(struct ada_cause_reader *reader, struct ada_cause_link *link, enum ada_does does);

/* --- where a thread's time went (spent.c) ------------------------------------------------------------------------------- */

struct ada_spent {
	enum ada_cause_kind kind;
	enum ada_does does;
	uint64_t function_id, object;
	bool has_object;
	bool off;			     /* the thread was off its CPU, in a function that waits for nothing known */
	uint64_t ns, spells, faults, ran_ns; /* the last two: of the longest spell; 0: not known */
	/* The longest spell: */
	uint64_t position, start_ns, end_ns;
	uint64_t
		returns; /* of waits for a condition in a loop, which are one spell: how many ended before the last, whose position this is */
	bool open;
};
/* The largest part of the time from_ns to to_ns, of which `first` is the thread's first event. `call`: of that call alone, which begins
 * there; *end_ns and *open say how it ended. False in *found: nothing was recorded, or the call's end isn't known. 0 or -errno. */
struct ada_spending {
	const struct ada_thread *thread;
	uint64_t first, from_ns, to_ns;
	bool of_call;
	bool of_running; /* `most`: the largest part that ran, as it adds up */
	uint64_t end_ns; /* of the call */
	bool found, open;
	struct ada_spent most;
	struct ada_beside beside[ADA_BESIDE]; /* of running: the next largest parts */
	uint64_t ran_ns;		      /* in what waits for nothing known, and wasn't off the CPU as far as the switches are known */
	uint64_t preempted_ns;		      /* there, ready to run and without a CPU */
	uint64_t recorder_ns;
	uint64_t allocating_ns;	      /* in all functions of the allocator */
	uint64_t allocating_off_ns;   /* of it off the CPU, and not ready to run */
	uint64_t allocating_ready_ns; /* there, ready to run and without a CPU */
	uint32_t preemptor;	      /* the tid that had the CPU for longest while the thread was preempted; 0: not known */
	uint64_t preemptor_ns;	      /* for how long */
	uint64_t rivals;	      /* how many threads of the session had it then */
};
/* What is proven of a stretch of a thread's time by samples (sampled.c). */
struct ada_sampled {
	uint64_t ran_ns, ready_ns, minor, major;
	uint64_t throttled_ns; /* its group was held up */
	uint64_t stolen_ns;    /* a hypervisor had CPUs that the thread ran on */
};
void ada_cause_sampled(struct ada_cause_reader *reader, const struct ada_thread *thread, uint64_t from_ns, uint64_t to_ns,
		       struct ada_sampled *sampled);
/* Says of the largest part what the scheduler and the samples prove (ran.c). `last_ns`: the end of the time asked for; `sched`: NULL where
 * the switches are not known. */
struct ada_sched_thread;
void ada_cause_settle(struct ada_cause_reader *reader, const struct ada_spending *spending, uint64_t last_ns,
		      const struct ada_sched_thread *sched, struct ada_spent *most);
int ada_cause_spend(struct ada_cause_reader *reader, struct ada_spending *spending);
/* Whom the link's thread waited for (culprit.c), where anybody is known, and of which kind the wait was then. 0 or -errno. */
int ada_cause_find_culprit(struct ada_cause_reader *reader, struct ada_cause_link *link, const struct ada_spending *spending);
/* The calls that are open before the event at `position`, and the one that it begins. 0 or -ENOMEM. */
int ada_cause_path_at(struct ada_stack *path, const struct ada_thread *thread, uint64_t position);
#endif
