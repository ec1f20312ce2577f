/* A session as the readers see it: processes, their threads with the events, and the modules that name the functions.
 *
 * Opening takes what is there. A session that is still being recorded, or that a crash left, has processes that are not
 * finalized and files without footer: no error. What can't be read is left out and named in `problems`.
 */
#ifndef ADA_QUERY_SESSION_H
#define ADA_QUERY_SESSION_H
#include <stdbool.h>
#include <stdint.h>
#include "atf.h"
#include "base/array.h"
#include "base/error.h"
#include "query/session/clock_view.h"
#include "query/session/json.h"
#include "query/session/module.h"
#include "query/session/mutes.h"

#define ADA_FLOOR_EVENTS (1u << 16) /* of a block */
#define ADA_FLOOR_OBJECTS 16

/* What query/calls/floors.h knows of a block of a thread's events. */
struct ada_floor {
	_Atomic uint32_t depth;			     /* the lowest in it and one more; 0: nobody has read it */
	_Atomic uint64_t objects[ADA_FLOOR_OBJECTS]; /* two bits for each OBJECT event's object, the same ones for some others */
};

struct ada_thread {
	struct ada_process *process;
	uint32_t number;	  /* N of thread_N */
	uint32_t tid;		  /* of the operating system */
	char name[64];		  /* "" where not known */
	uint64_t pointer;	  /* what joins of it name it by, its pthread_t; 0: not known */
	uint64_t start_ns;	  /* when it was first seen; 0: not known */
	uint64_t end_ns;	  /* when it ended; 0: it goes on, or nobody saw it end */
	const json_object *entry; /* what the manifest says of it; NULL: nothing */
	uint64_t overwritten;	  /* of `lost`, those that newer events replaced in a circular buffer, as asked: before all that is there */
	uint64_t lost;		  /* as the manifest counts: LOST records, and drops that no record stands for */
	uint64_t skipped;	  /* calls that the agent could not record */
	uint64_t count;		  /* events in its files */
	struct atf_thread *events; /* NULL: has no files, or they can't be read */
	struct ada_floor *floors;  /* by block; NULL: it has few events, or is no thread of a session */
	bool counted;		   /* `lost` is known to be no less than what the LOST records stand for: see ada_thread_lost */
	bool detail_named;	   /* the problems say already that some of its detail can't be read */
};

/* A stretch of time whose detail was kept, as the manifest of its process has it. */
struct ada_recorded_window {
	struct ada_process *process;
	const json_object *entry;  /* of the manifest: its fields */
	uint32_t id;		   /* its position there, and window_id of the detail files */
	uint64_t start_ns, end_ns; /* both inclusive; end UINT64_MAX: still open */
	uint64_t event_count, marked_count;
	uint64_t lost; /* records that could not be written */
	bool aged;     /* some of its records have gone */
};

struct ada_process {
	struct ada_session *session;
	char *directory; /* name below the session: pid_N */
	char *path;
	uint32_t pid;
	json_object *manifest;			/* NULL: missing or unreadable */
	bool finalized;				/* nothing in its directory changes any more */
	bool complete;				/* finalized, and recorded until the process ended */
	ADA_ARRAY(struct ada_module *) modules; /* by module id; NULL where there is none. The session's */
	struct ada_mutes mutes;
	uint64_t detail_lost;		   /* records of windows that could not be written */
	size_t first_thread, thread_count; /* in session->threads */
	size_t first_window, window_count; /* in session->windows */
	_Atomic uint64_t end_ns;	   /* ada_process_end_ns, once it was asked for */
};

struct ada_session {
	char *path;
	json_object *document;		   /* session.json; NULL: missing or unreadable */
	uint64_t start_ns;		   /* what relative times count from */
	uint64_t page_fault_ns;		   /* what one took on that machine; 0: not known */
	struct ada_timing_anchor *anchors; /* as atf_session_anchors has them */
	size_t anchor_count;
	struct ada_clock_view view;		       /* the clock of the times in questions and answers */
	ADA_ARRAY(struct ada_process *) processes;     /* in the order of starting */
	ADA_ARRAY(struct ada_thread) threads;	       /* of all processes, process by process, by number */
	ADA_ARRAY(struct ada_recorded_window) windows; /* of all processes, process by process, in order of time */
	ADA_ARRAY(struct ada_module *) modules;	       /* each once, whichever processes loaded it */
	struct ada_sched_view *sched;		       /* sched.h: NULL until it is asked for */
	ADA_ARRAY(char *) problems;		       /* a line each: file, what is wrong */
};

/* `path`: a session or pid directory; NULL: ada_traces/latest. */
int ada_session_open(struct ada_session **session, const char *path, struct ada_error *error);
void ada_session_close(struct ada_session *session);
/* Of a session that was opened again: takes over what the older one has read: the tables of names, which that one reads anew if it is asked, and
 * how deep blocks of events lie. */
void ada_session_adopt(struct ada_session *session, struct ada_session *from);

/* Remembers a line for the user about something that could not be read; dropped if there is no memory for it. */
void ada_session_problem(struct ada_session *session, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The module of a function of this process; NULL: the recording knows none. */
struct ada_module *ada_process_module(const struct ada_process *process, uint64_t function_id);
/* The thread of this number; NULL: it has none. */
const struct ada_thread *ada_process_thread(const struct ada_process *process, uint64_t number);
/* Whether the functions of its module are recorded; else its calls are those that recorded modules make. */
bool ada_process_traces(const struct ada_process *process, uint64_t function_id);
/* Which function of its modules holds the address, which is *offset behind its module's base. False: none does. */
bool ada_process_function_at(const struct ada_process *process, uint64_t address, uint64_t *function_id, uint64_t *offset);
/* A number that is the same for the same function of the same module in every process. */
uint64_t ada_process_function_key(const struct ada_process *process, uint64_t function_id);

/* The time of the last event of `count` threads from `first` on; 0: they have none. Where nothing says when a process ended, the process
 * lasted at least until then. */
uint64_t ada_session_last_ns(const struct ada_session *session, size_t first, size_t count);

/* When the process ended, or, of one that is still recorded, now: an open call lasts until then. The same time whenever it is asked for,
 * by any thread. */
uint64_t ada_process_end_ns(const struct ada_process *process);
/* The latest of its processes' ends; 0: it has no process. */
uint64_t ada_session_end_ns(const struct ada_session *session);
/* What is being recorded lasts until now once more: "now" is the time of the first question behind this. */
void ada_session_take_now(struct ada_session *session);
/* Whether it is recorded at this moment. */
bool ada_process_is_live(const struct ada_process *process);

/* The number in the name of a process or thread, 12 in "pid_12_1": the digits behind `prefix`; false where the name doesn't begin with
 * it. */
bool ada_directory_number(const char *name, const char *prefix, uint32_t *number);
#endif
