/* ada stop [SESSION]: ends a recording in order. */
#include <stdio.h>
#include "cli/ground/answer.h"
#include "cli/ground/live.h"
#include "cli/record/commands.h"
#include "query/session/json.h"

static const struct ada_usage usage = {
	"[SESSION]",
	"Ends a recording in order; the program runs on, unrecorded."
	"\vComes back once the session is finished.",
};

int ada_cmd_stop(int argc, char **argv)
{
	struct ada_options options = {};
	struct ada_live live;
	struct ada_error error = { "" };
	json_object *answer;

	ada_options_take(&options, &usage, argc, argv);
	if (ada_live_find(&live, options.session, &error) || ada_live_ask(&live, ada_live_request("stop"), 0, &answer, &error))
		return ada_answer_fail(argv[0], &error);
	printf("%s: %llu events\n", live.session, (unsigned long long)ada_json_u64(answer, "events", 0));
	json_object_put(answer);
	return 0;
}
