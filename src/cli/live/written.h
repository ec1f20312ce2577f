/* Up to when the files of a session under way have all that its threads did, as its recorder says (docs/control.md, status). */
#ifndef ADA_CLI_LIVE_WRITTEN_H
#define ADA_CLI_LIVE_WRITTEN_H
#include <json-c/json.h>
#include "base/hash.h"
#include "query/session/session.h"

struct ada_written {		 /* all zero: nothing is known */
	uint64_t now_ns;	 /* the latest time of any process; 0: of none */
	struct ada_table until;	 /* by process */
	struct ada_table behind; /* threads */
};

/* 0 or -ENOMEM; to be freed in both cases. status NULL: nothing is known. */
int ada_written_read(struct ada_written *written, const json_object *status);
/* Until then; 0: the recorder doesn't say. *behind: it has done more than is in its files. */
uint64_t ada_written_until(const struct ada_written *written, const struct ada_thread *thread, bool *behind);
void ada_written_free(struct ada_written *written);
#endif
