#ifndef ADA_CLI_SHOW_WINDOWS_TABLE_H
#define ADA_CLI_SHOW_WINDOWS_TABLE_H
#include "base/output.h"
#include "query/session/session.h"

/* The windows as `ada windows` prints them: a line of titles, and then a line a window in the session's order. 0 or -ENOMEM. */
int ada_windows_table(struct ada_output *output, const struct ada_session *session);
#endif
