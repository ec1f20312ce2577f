/* Packs or unpacks the index files of a session, in place. */
#ifndef ADA_CLI_PACK_SESSION_H
#define ADA_CLI_PACK_SESSION_H
#include "base/progress.h"
#include "query/session/session.h"

struct ada_packing {
	bool unpack;
	struct ada_progress progress;
	uint64_t done;			    /* events, of progress.total */
	uint64_t segments, events;	    /* that changed */
	uint64_t bytes_before, bytes_after; /* of these */
};

/* Nobody else may change the session meanwhile. Each segment's new file is whole, on the disk and compared with the old one before it takes
 * its place, and the old one goes last: what ends this half-way leaves a session that reads as before, and that packing once more finishes. 0
 * or an error; -EINTR: it was interrupted, in order. */
int ada_pack_session(struct ada_packing *packing, const struct ada_session *session, struct ada_error *error);
#endif
