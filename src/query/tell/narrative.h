/* A narrative: sections of sentences, each with the events that it rests on. */
#ifndef ADA_QUERY_TELL_NARRATIVE_H
#define ADA_QUERY_TELL_NARRATIVE_H
#include "base/array.h"
#include "base/output.h"
#include "query/session/selection.h"

struct ada_evidence {
	const struct ada_process *process; /* NULL: the session */
	const struct ada_thread *thread;   /* NULL: no event shows it, but `file` does */
	uint64_t first, last;		   /* index_seq, both inclusive: `ada dump --thread=N --seq=FIRST-LAST` */
	const char *file;		   /* "manifest.json", "session.json", "ada verify" */
	char field[64];			   /* of the file: "crash", "detail_lane.windows[3]"; "" for all of it */
};

struct ada_sentence {
	const char *kind; /* for programs: "trigger", "path", "other-thread", "slow", "followed", ... (ada-narrate(1)) */
	char *text;	  /* without its evidence */
	ADA_ARRAY(struct ada_evidence) evidence; /* never empty */
	char *cause;				 /* of a headline, as JSON; NULL: the sentence is none */
	char *crash;				 /* of the sentence that says why a process crashed, as JSON; else NULL */
};

#define ADA_NO_WINDOW UINT64_MAX
struct ada_section {
	char *title;
	const struct ada_process *process; /* NULL: the session */
	uint64_t window;		   /* as in `ada windows`; ADA_NO_WINDOW */
	bool brief;			   /* of a window: the headline says enough, unless all is asked for */
	bool alike;			   /* of a window: one before is like it, and counts it */
	ADA_ARRAY(struct ada_sentence) sentences;
};

struct ada_narrative {
	const struct ada_session *session;
	ADA_ARRAY(struct ada_section) sections;
	struct ada_completeness completeness;
};

struct ada_narrate_options { /* all zero: the defaults */
	bool in_window;	     /* only window `window` */
	uint64_t window;
	unsigned int workers; /* 0: one a CPU */
	bool full_names;      /* with parameters, template arguments and ABI tags */
	bool brief; /* without what ada_narrative_print leaves out of text and Markdown where not all is asked for, and what that costs */
};

enum ada_narrative_format { ADA_NARRATIVE_TEXT, ADA_NARRATIVE_MARKDOWN, ADA_NARRATIVE_JSON };
struct ada_narrative_style {
	enum ada_narrative_format format;
	bool all;	    /* of windows everything, not only the headlines and what bears the worst ones out; JSON always has all */
	unsigned int width; /* columns of text; 0: a line a sentence */
};
/* Prints the sections; the caller puts the completeness behind them. JSON: `"rows": [...],` and a newline. */
void ada_narrative_print(struct ada_output *output, const struct ada_narrative *narrative, const struct ada_narrative_style *style);
/* The row of its first headline as a JSON object in a line, which also names the session. Of a window that has none: the first row. */
void ada_narrative_print_headline(struct ada_output *output, const struct ada_narrative *narrative, const char *session);
#endif
