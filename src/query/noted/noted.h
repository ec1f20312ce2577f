/* What the descriptors of a process led to whenever the recorder looked, at marks: descriptors.json (docs/format.md). What it holds makes no
 * sense where somebody else wrote it: then it is as if it weren't there. */
#ifndef ADA_QUERY_NOTED_H
#define ADA_QUERY_NOTED_H
#include "query/session/session.h"

struct ada_noted_look {
	uint64_t start_ns, end_ns;
};
struct ada_noted {
	const struct ada_process *process;
	json_object *document;
	ADA_ARRAY(struct ada_noted_look) looks; /* in order of time */
};

/* NULL: nothing was noted of the process, it can't be read, or no memory. */
struct ada_noted *ada_noted_open(const struct ada_process *process);
void ada_noted_close(struct ada_noted *noted); /* NULL is fine */
/* What the descriptor led to at the look; NULL: not known. */
const json_object *ada_noted_at(const struct ada_noted *noted, const struct ada_noted_look *look, uint64_t descriptor);
/* "a connection from 127.0.0.1:51234", to be freed; NULL: nothing that is worth a word, or no memory. */
char *ada_noted_text(const struct ada_noted *noted, const json_object *lead);
#endif
