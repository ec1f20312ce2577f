/* --diff: two recordings in one answer, this one and an older one that it is compared with. */
#ifndef ADA_CLI_COMPARE_H
#define ADA_CLI_COMPARE_H
#include "cli/ground/answer.h"

enum { ADA_NOW, ADA_BEFORE, ADA_SIDES };

struct ada_comparison {
	struct ada_session *sessions[ADA_SIDES]; /* that of ADA_BEFORE is NULL without --diff */
	struct ada_selection selections[ADA_SIDES];
	struct ada_completeness completeness[ADA_SIDES]; /* as the command finds it */
	struct ada_progress progress;
	const char *clock; /* the clock for times, if the user asked for one; else NULL */
};

/* Opens the sessions and selects; in that of --diff, where it is given, the same threads and times, but no window, which belongs to the
 * first one. 0, or the exit status after a line on stderr. Close the comparison in any case. */
int ada_compare_open(struct ada_comparison *comparison, const char *command, const struct ada_options *options);
/* Puts the end of the answer: completeness, and for a comparison also the other one's, and how long both are. */
void ada_compare_put_end(const struct ada_comparison *comparison, enum ada_format format, struct ada_output *output);
/* Says why there is no answer (`error`; after an interruption nothing) and returns the exit status. */
int ada_compare_fail(struct ada_comparison *comparison, const char *command, const struct ada_error *error);
int ada_compare_finish(struct ada_comparison *comparison, const char *command, struct ada_output *output);
void ada_compare_close(struct ada_comparison *comparison);

/* Signed numbers for rows: "+1.23 ms" in text, -1230000 elsewhere. */
#define ADA_COMPARE_TEXT 40
char *ada_compare_change(char text[ADA_COMPARE_TEXT], enum ada_format format, bool duration, uint64_t now, uint64_t before);
/* "1.25" times; NULL where that has no meaning. */
char *ada_compare_ratio(char text[ADA_COMPARE_TEXT], uint64_t now, uint64_t before);
#endif
