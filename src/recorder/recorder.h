/* The recorder: runs a program with the agent preloaded and turns what it records into a session directory. */
#ifndef ADA_RECORDER_RECORDER_H
#define ADA_RECORDER_RECORDER_H
#include "base/error.h"
#include "recorder/host/options.h"

/* Runs until every traced process has ended (or the user stops it). 0, and *exit_status is the program's; else -errno,
 * *exit_status is one of enum ada_exit, and nothing is left behind. */
int ada_trace(const struct ada_trace_options *options, int *exit_status, struct ada_error *error);
#endif
