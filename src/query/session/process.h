/* Reading one process of a session: for session.c. */
#ifndef ADA_QUERY_PROCESS_H
#define ADA_QUERY_PROCESS_H
#include "query/session/session.h"

/* Adds the process in `path`, known as `directory` below the session, with its modules and threads. 0 or -ENOMEM; what
 * can't be read becomes a problem of the session. */
int ada_process_add(struct ada_session *session, const char *path, const char *directory);
void ada_process_free(struct ada_process *process);
#endif
