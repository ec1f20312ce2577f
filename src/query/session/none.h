/* Directories that are named as a session, and are none. */
#ifndef ADA_QUERY_NONE_H
#define ADA_QUERY_NONE_H
#include "base/error.h"

/* -EBADMSG; says which session is meant, perhaps. */
int ada_session_none(const char *directory, struct ada_error *error);
#endif
