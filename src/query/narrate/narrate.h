/* What happened, as sentences that each name the events that they rest on. The same recording gives the same sentences,
 * whatever the number of workers.
 *
 * Sections: the session; each process; each crash whose window was not kept; each window, or a group of windows of like triggers
 * (of many windows of one kind, the first few have a section of their own). What is usual (percentiles, callers) is that of the
 * whole recording, whatever is selected. */
#ifndef ADA_QUERY_NARRATE_H
#define ADA_QUERY_NARRATE_H
#include "base/array.h"
#include "base/output.h"
#include "query/selection.h"

struct ada_evidence {
	const struct ada_process *process;	/* NULL: the session */
	const struct ada_thread *thread;	/* NULL: what no event shows, and `file` does */
	uint64_t first, last;			/* index_seq, both inclusive: `ada dump --thread=N --seq=FIRST-LAST` */
	const char *file;			/* "manifest.json", "session.json", "ada verify" */
	char field[64];				/* of the file: "crash", "detail_lane.windows[3]"; "" for all of it */
};

struct ada_sentence {
	const char *kind;		/* for programs: "trigger", "path", "other-thread", "slow", "followed", ... (ada-narrate(1)) */
	char *text;			/* without its evidence */
	ADA_ARRAY(struct ada_evidence) evidence;	/* never empty */
};

#define ADA_NO_WINDOW UINT64_MAX
struct ada_section {
	char *title;
	const struct ada_process *process;	/* NULL: the session */
	uint64_t window;		/* as in `ada windows`; ADA_NO_WINDOW */
	ADA_ARRAY(struct ada_sentence) sentences;
};

struct ada_narrative {
	const struct ada_session *session;
	ADA_ARRAY(struct ada_section) sections;
	struct ada_completeness completeness;
};

struct ada_narrate_options {		/* all zero: the defaults */
	bool in_window;			/* only window `window` */
	uint64_t window;
	unsigned int workers;		/* 0: one a CPU */
};

/* `options` may be NULL. The selection's session must stay open as long as the narrative. */
int ada_narrate(struct ada_narrative *narrative, const struct ada_selection *selection,
		const struct ada_narrate_options *options, struct ada_error *error);
void ada_narrative_free(struct ada_narrative *narrative);

/* The sections, without the completeness: that is for the caller to put behind them. JSON: `"rows": [...],` and a newline. */
enum ada_narrative_format { ADA_NARRATIVE_TEXT, ADA_NARRATIVE_MARKDOWN, ADA_NARRATIVE_JSON };
void ada_narrative_print(struct ada_output *output, const struct ada_narrative *narrative, enum ada_narrative_format format);
#endif
