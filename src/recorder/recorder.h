/* The recorder: runs a program with the agent preloaded and turns what it records into a session directory. */
#ifndef ADA_RECORDER_RECORDER_H
#define ADA_RECORDER_RECORDER_H
#include <stdbool.h>
#include "abi/wire.h"
#include "base/error.h"

struct ada_strings { const char **items; size_t count, capacity; };

struct ada_trace_options {
	const char *output;		/* directory that gets the session */
	const char *agent;		/* NULL: found beside ada's own executable */
	char **command;			/* NULL-terminated; command[0] is looked up like a shell does */
	struct ada_strings modules;	/* --modules: globs */
	struct ada_strings functions, exclude;	/* patterns: literal, glob, re:REGEX */
	bool follow, libcalls, quiet;
	enum ada_index_mode index_mode;
	enum ada_on_full on_full;
	uint64_t index_buffer_bytes;
	uint64_t segment_bytes;		/* 0: as large as a file can be */
};
#define ADA_INDEX_BUFFER_DEFAULT (64ull << 20)
#define ADA_SEGMENT_MIN (64ull << 10)
#define ADA_SEGMENT_MAX (1ull << 40)

/* Runs until every traced process has ended (or the user stops it). 0, and *exit_status is the program's; else -errno,
 * *exit_status is one of enum ada_exit, and nothing is left behind. */
int ada_trace(const struct ada_trace_options *options, int *exit_status, struct ada_error *error);

const char *ada_disable_text(enum ada_disable reason);	/* a sentence for people */
#endif
