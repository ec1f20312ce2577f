/* ada mark [SESSION] [LABEL]: a manual trigger. */
#include <stdio.h>
#include "cli/ground/answer.h"
#include "cli/ground/live.h"
#include "cli/record/commands.h"
#include "query/session/json.h"

#define ANSWER_SECONDS 10

static const struct ada_usage usage = {
	"[SESSION] [LABEL]",
	"Marks this moment in a session that is being recorded: the detail around it is kept."
	"\vThe session's policy must have a rule `manual`, as it has by default. LABEL is noted with the mark.",
};

int ada_cmd_mark(int argc, char **argv)
{
	struct ada_options options = {};
	struct ada_live live;
	struct ada_error error = { "" };
	json_object *request, *answer;
	const char *label;
	uint64_t processes;

	ada_options_take(&options, &usage, argc, argv);
	ada_options_session(&options);
	label = ada_options_word(&options);
	ada_options_end(&options);
	if (ada_live_find(&live, options.session, &error))
		return ada_answer_fail(argv[0], &error);
	request = ada_live_request("mark");
	if (label)
		json_object_object_add(request, "label", json_object_new_string(label));
	if (ada_live_ask(&live, request, ANSWER_SECONDS, &answer, &error))
		return ada_answer_fail(argv[0], &error);
	processes = ada_json_u64(answer, "processes", 0);
	printf("marked in %llu process%s\n", (unsigned long long)processes, processes == 1 ? "" : "es");
	json_object_put(answer);
	return 0;
}
