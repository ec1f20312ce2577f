/* What `ada trace` was asked for. */
#ifndef ADA_RECORDER_OPTIONS_H
#define ADA_RECORDER_OPTIONS_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "abi/wire.h"

struct ada_strings {
	const char **items;
	size_t count, capacity;
};

struct ada_keeping;
struct ada_folded;
struct ada_error;

#define ADA_TRACES "ada_traces" /* the directory that gets sessions where the user names none: readers look there */

struct ada_trace_options {
	/* starts the process that finishes the session should the recorder die; NULL: nobody does */
	pid_t (*keep)(const struct ada_keeping *keeping);
	/* Folds segments that --disk-limit or --max-age let go (bound/bound.h) */
	int (*fold)(const char *directory, uint32_t border, struct ada_folded *folded, struct ada_error *error);
	/* The session of so many events is finished, nobody has it any more, and it may become larger; NULL: nobody asks */
	void (*finished)(const char *session, uint64_t events);
	int announce;			       /* descriptor that gets the session's path, a line, once the session is there; 0: none */
	const char *output;		       /* directory that gets the session */
	const char *agent;		       /* NULL: found beside ada's own executable */
	char **command;			       /* NULL-terminated; command[0] is looked up like a shell does */
	struct ada_strings modules;	       /* --modules: patterns of paths */
	struct ada_strings functions, exclude; /* patterns: literal, glob, re:REGEX */
	double budget;			       /* --budget: share of the program's own time; 0: no limit, and no hook is taken out */
	struct ada_strings kept;	       /* --keep: patterns of functions whose hooks stay */
	bool budget_forget;		       /* --budget-forget: what other runs have learnt doesn't count */
	bool flip;			       /* --debug-flip */
	bool filter;			       /* --debug-filter */
	bool follow, libcalls, quiet;
	bool sched;   /* --sched: the scheduling lane, where the kernel allows it */
	bool no_wait; /* the recording ends with the program; processes that it started go on unrecorded */
	enum ada_index_mode index_mode;
	enum ada_on_full on_full;
	uint64_t index_buffer_bytes;
	uint64_t segment_bytes; /* 0: as large as a file can be */
	int pack;		/* enum ada_pack */
	uint64_t resolution_ns; /* of times (base/clock.h) */
	uint64_t disk_limit;	/* bytes that the session may have; 0: any */
	uint64_t detail_limit;	/* bytes that detail files may have; 0: any */
	uint64_t max_age_ns;	/* 0: any */
	/* Detail lane */
	bool detail;		       /* --detail=off: false */
	uint32_t detail_stack_bytes;   /* --stack-bytes; --detail=regs: 0 */
	bool stack_at_return;	       /* --stack-at=both */
	struct ada_strings captures;   /* --capture, in order */
	struct ada_strings redactions; /* --redact */
	enum ada_detail_mode detail_mode;
	uint64_t detail_buffer_bytes;
	/* Policy. A rule's own pre= and post= take the place of these; none given: 1000 events each */
	struct ada_strings triggers;	    /* --trigger and the lines of --trigger-file, in order; then crash and manual */
	struct ada_strings trigger_origins; /* of each trigger, for messages: "--trigger", "FILE:LINE" */
	bool no_default_triggers;	    /* only those of `triggers` */
	bool strict;			    /* --strict: an invalid regex is an error */
	uint64_t pre_roll_ns, pre_roll_events, post_roll_ns, post_roll_events; /* 0: not given */
	bool poison;							       /* --debug-poison */
	bool unbound;							       /* --debug-unbound */
	int mark_signal; /* --mark-signal: marks when `ada trace` itself gets it; 0: none */
};
/* Whether hooks may go out and come back. */
static inline bool ada_options_flip(const struct ada_trace_options *options)
{
	return options->budget > 0 || options->flip || options->filter;
}

#define ADA_DETAIL_BUFFER_DEFAULT (64ull << 20)
#define ADA_STACK_BYTES_DEFAULT 128
#define ADA_ROLL_EVENTS_DEFAULT 1000
#define ADA_INDEX_BUFFER_DEFAULT (64ull << 20)
#define ADA_SEGMENT_DEFAULT (1ull << 30)
#define ADA_RESOLUTION_DEFAULT 8 /* ns: what lies below is the noise of reading the counter, and a third of a packed recording */
#define ADA_SEGMENT_MIN (64ull << 10)
#define ADA_SEGMENT_MAX (1ull << 40)
#define ADA_DISK_LIMIT_MIN (1ull << 20)
#define ADA_DISK_LIMIT_MAX (1ull << 50)
#define ADA_AGE_MIN_NS 1000000000ull
#endif
