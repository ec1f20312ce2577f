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
/* Of JSON and CSV: the time on the clock that was asked for; `absent` where it has no room in 64 bits. */
void ada_dump_clock_ns(struct ada_dump *dump, uint64_t ns, const char *absent);
/* `name` is NULL for a loss. */
void ada_dump_event(struct ada_dump *dump, const struct ada_moment *moment, const struct ada_dump_name *name);
#endif
