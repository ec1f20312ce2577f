#ifndef ADA_QUERY_LIVE_OPEN_H
#define ADA_QUERY_LIVE_OPEN_H
#include "atf/session/thread.h"

/* atf_thread_open of a thread that may be being recorded: a packed file loses the place of its last short block when it is finished, which
 * may be while it is looked through. Then it is opened again. */
int ada_live_open(struct atf_thread **thread, const char *directory, struct atf_message *message);
#endif
