/* What happened, as sentences that each name the events that they rest on. The same recording gives the same sentences. */
#ifndef ADA_QUERY_NARRATE_H
#define ADA_QUERY_NARRATE_H
#include "base/array.h"
#include "base/output.h"
#include "query/selection.h"

struct ada_evidence {
	const struct ada_thread *thread;
	uint64_t first, last;		/* index_seq, both inclusive */
};

struct ada_sentence {
	const char *kind;		/* for programs: "trigger", "path", "other-threads", "unusual", "followed", "crash", "lost", ... */
	char *text;			/* without its evidence */
	ADA_ARRAY(struct ada_evidence) evidence;	/* never empty, but for what a recording without events says */
};

struct ada_section {
	char *title;
	bool is_window;
	uint64_t window;		/* as in `ada windows` */
	ADA_ARRAY(struct ada_sentence) sentences;
};

struct ada_narrative {
	ADA_ARRAY(struct ada_section) sections;
	struct ada_completeness completeness;
};

int ada_narrate(struct ada_narrative *narrative, const struct ada_selection *selection, struct ada_error *error);
void ada_narrative_free(struct ada_narrative *narrative);
#endif
