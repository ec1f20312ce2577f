/* How `ada dump` writes events. */
#ifndef ADA_CLI_DUMP_EVENT_H
#define ADA_CLI_DUMP_EVENT_H
#include "cli/show/dump_names.h"
#include "query/calls/timeline.h"

struct ada_dump {
	struct ada_output *output;
	const struct ada_session *session;
	enum ada_format format;
	bool has_clock;	     /* times are also those of the session's view */
	bool detail, source; /* show them as far as they are known */
	bool several;	     /* the session holds several processes: rows say which */
	bool colours;
};

/* Prints what stands above the events. */
void ada_dump_begin(struct ada_dump *dump);
/* NULL: a kind that isn't shown. */
const char *ada_dump_kind(uint32_t kind);
/* A time as text lines begin with it. */
void ada_dump_time(struct ada_dump *dump, uint64_t ns);
/* "2:worker", as wide as the column is: the thread's number and name. Of a session of several processes the system's number, which no two
 * threads of it have. */
void ada_dump_thread(struct ada_dump *dump, const struct ada_thread *thread);
/* A duration, to the right of a column of that width; on a terminal in a colour where it is long. */
void ada_dump_duration(struct ada_dump *dump, const char *text, uint64_t ns, size_t width);
/* Of JSON and CSV: the time on the clock that was asked for; `absent` where it has no room in 64 bits. */
void ada_dump_clock_ns(struct ada_dump *dump, uint64_t ns, const char *absent);
/* `name` is NULL for a loss. */
void ada_dump_event(struct ada_dump *dump, const struct ada_moment *moment, const struct ada_dump_name *name);
/* A line of text for each pattern of the options that fits nothing. */
void ada_dump_unmatched(struct ada_dump *dump, const struct ada_options *options);
#endif
