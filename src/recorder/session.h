/* The session directory: OUTPUT/session_YYYYMMDD_HHMMSS, OUTPUT/latest -> it, session.json. */
#ifndef ADA_RECORDER_SESSION_H
#define ADA_RECORDER_SESSION_H
#include "recorder/state.h"

/* 0, or -errno and nothing is left. */
int ada_session_make(struct ada_session *session, const char *output, struct ada_error *error);
/* Points `latest` to it: once the program runs. */
int ada_session_publish(const struct ada_session *session, struct ada_error *error);
/* Undoes ada_session_make where nothing was recorded yet. */
void ada_session_remove(const struct ada_session *session);
#endif
