/* Beginning and end of every command that reads a session. */
#ifndef ADA_CLI_ANSWER_H
#define ADA_CLI_ANSWER_H
#include "cli/ground/options.h"
#include "query/session/selection.h"

/* Opens the session, or says on stderr why it can't: 0 or ADA_EXIT_FAILED. */
int ada_answer_open(const char *command, const struct ada_options *options, struct ada_session **session);
/* Selects the threads and the time that the options name, on the clock that they name: 0, or -errno with the reason. */
int ada_answer_select(struct ada_selection *selection, struct ada_session *session, const struct ada_options *options,
		      struct ada_error *error);
/* One line on stderr; ADA_EXIT_FAILED. */
int ada_answer_fail(const char *command, const struct ada_error *error);
/* Writes the rest of the answer, and names on stderr what could not be read of the session. Returns the exit status. */
int ada_answer_finish(const char *command, struct ada_output *output, const struct ada_session *session);
/* Writes a line for each pattern that means no function of the recording, with the names that are nearest. `before` begins each: who speaks,
 * on stderr; "" within an answer. */
void ada_answer_unmatched(struct ada_output *output, const char *before, const struct ada_session *session,
			  const struct ada_pattern_list *patterns);
/* The same of programs and libraries. */
void ada_answer_unmatched_modules(struct ada_output *output, const struct ada_session *session, const struct ada_pattern_list *patterns);
/* Says on stderr which files could not be read any more once they were open (base/fault.h): ADA_EXIT_FAILED; else 0. */
int ada_answer_fault(const char *command, const struct ada_session *session);
#endif
