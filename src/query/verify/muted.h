/* The manifest's `muted` against the module tables, the process's time and its events. */
#ifndef ADA_QUERY_VERIFY_MUTED_H
#define ADA_QUERY_VERIFY_MUTED_H
#include "base/hash.h"
#include "query/session/mutes.h"
#include "query/verify/verify.h"

struct ada_verify_mutes {
	ADA_ARRAY(struct ada_muted) items; /* by function, then time */
	uint64_t calls;			   /* recorded while their function was out, those that a stop explains aside */
	uint64_t function_id;		   /* of the first of these */
};

/* Checks the entries, and keeps them for what follows. 0 or -ENOMEM. */
int ada_verify_mutes_open(struct ada_verify_mutes *mutes, struct ada_verify *verify, const struct ada_process *process);
void ada_verify_mutes_close(struct ada_verify_mutes *mutes);
/* A call of a thread. `seen`: empty at the thread's begin, freed at its end. 0 or -ENOMEM. */
int ada_verify_mutes_call(struct ada_verify_mutes *mutes, struct ada_table *seen, uint64_t function_id, uint64_t ns);
/* Says what all threads' calls have told. */
void ada_verify_mutes_tell(const struct ada_verify_mutes *mutes, struct ada_verify *verify, const struct ada_process *process);
#endif
