/* Opening a session for a command, and ending with the right status. */
#include "cli/answer.h"
#include <stdio.h>

int ada_answer_fail(const char *command, const struct ada_error *error)
{
	fprintf(stderr, "%s: %s\n", command, error->text);
	return ADA_EXIT_FAILED;
}

int ada_answer_open(const char *command, const struct ada_reading *reading, struct ada_session **session)
{
	struct ada_error error = {};

	return ada_session_open(session, reading->session, &error) ? ada_answer_fail(command, &error) : 0;
}

int ada_answer_select(struct ada_selection *selection, const struct ada_session *session, const struct ada_narrowing *narrowing,
		      struct ada_error *error)
{
	int result = ada_selection_open(selection, session, narrowing->thread, narrowing->from, narrowing->to, error);

	return result || !narrowing->in_window ? result : ada_selection_narrow(selection, narrowing->window, error);
}

int ada_answer_finish(const char *command, struct ada_output *output, const struct ada_session *session)
{
	int status = ada_output_finish(output, command);
	size_t count = session->problems.count;

	if (!count)
		return status;
	fprintf(stderr, "%s: answered without what can't be read: %s", command, session->problems.items[0]);
	if (count > 1)
		fprintf(stderr, ", and %zu more (`ada verify` lists them)", count - 1);
	fputc('\n', stderr);
	return ADA_EXIT_FAILED;
}
