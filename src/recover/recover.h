/* Finishing a session whose recorder died: `ada recover`, and the keeper.
 *
 *   salvage.h    puts into the files what is in shared memory
 *   files.c      every index file gets its footer; what a dead recorder left behind in the session goes
 *   windows.c    which stretches of time have all their detail, on every thread; then the detail files
 *   manifest.c   each process's manifest.json, by what its files hold
 *   recover.c    the order of it all, and session.json, last
 *
 * Each step comes to the same when it is done again, and only the last says that recovery is done: so an interrupted recovery goes on the
 * next time. A lock on the session's directory (flock) keeps two apart; the recorder holds the same lock while it lives.
 */
#ifndef ADA_RECOVER_RECOVER_H
#define ADA_RECOVER_RECOVER_H
#include <stdbool.h>
#include "base/array.h"
#include "base/error.h"

struct ada_recover_options {
	const char *session; /* its directory, absolute */
	int directory;	     /* a descriptor of the session's directory: it gets the lock, and keeps it until it is closed */
	int memory, arena;   /* the dead recorder's shared directory, and the arena in it, locked; -1: there is none */
	const char *by;	     /* "command", "keeper" */
	const char *reason;  /* a sentence without its end: why nobody else finished the session */
};

struct ada_recovered {
	bool was_complete;	    /* nothing was to be done */
	ADA_ARRAY(char *) problems; /* a line each: what could not be saved, and why */
};

/* 0: done, except for what the problems name. Otherwise -errno, and the session stays unfinished: -EBUSY where another has the lock (then
 * nothing was looked at), -ENOSPC and others where something may be saved the next time. The caller frees the result. */
int ada_recover(const struct ada_recover_options *options, struct ada_recovered *result, struct ada_error *error);
void ada_recovered_free(struct ada_recovered *result);
#endif
