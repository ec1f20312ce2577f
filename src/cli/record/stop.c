/* ada stop [SESSION]: ends a recording in order. */
#include <stdio.h>
#include "cli/ground/answer.h"
#include "cli/ground/live.h"
#include "cli/record/commands.h"
#include "query/session/json.h"

static error_t parse(int key, char *argument, struct argp_state *state)
{
	const char **session = state->input;
	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	if (*session)
		ada_options_fail(state, "unexpected argument '%s': ada stop [SESSION]", argument);
	*session = argument;
	return 0;
}

int ada_cmd_stop(int argc, char **argv)
{
	static const struct argp argp = { .parser = parse,
					  .args_doc = "[SESSION]",
					  .doc = "Ends a recording in order; the program runs on, unrecorded."
						 "\vComes back once the session is finished." };
	const char *session = NULL;
	struct ada_live live;
	struct ada_error error = { "" };
	json_object *answer;
	ada_options_parse(&argp, argc, argv, 0, &session);
	if (ada_live_find(&live, session, &error) || ada_live_ask(&live, ada_live_request("stop"), 0, &answer, &error))
		return ada_answer_fail(argv[0], &error);
	printf("%s: %llu events\n", live.session, (unsigned long long)ada_json_u64(answer, "events", 0));
	json_object_put(answer);
	return 0;
}
