/* Lets the oldest segments of a finished session go, and keeps what they added up to. */
#ifndef ADA_CLI_AGE_SESSION_H
#define ADA_CLI_AGE_SESSION_H
#include "query/session/session.h"

struct ada_aging {
	uint64_t disk_limit;		  /* bytes that the session may have; UINT64_MAX: any */
	uint64_t max_age_ns;		  /* before the session's last event; UINT64_MAX: any */
	uint64_t segments, events, bytes; /* that went */
	uint64_t left;			  /* bytes that the session has now */
};

/* Nobody else may change the session meanwhile. A thread's last segment stays, and so does one with detail, and all behind it. Of each
 * segment totals are on the disk before it goes; the manifest follows: what ends this half-way is finished by the next run. 0 or an error;
 * -EINTR: it was interrupted, in order. */
int ada_age_session(struct ada_aging *aging, struct ada_session *session, struct ada_error *error);
#endif
