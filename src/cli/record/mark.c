/* ada mark [SESSION] [LABEL]: a manual trigger. */
#include <stdio.h>
#include "cli/ground/answer.h"
#include "cli/ground/live.h"
#include "cli/record/commands.h"
#include "query/session/json.h"

#define ANSWER_SECONDS 10

struct words {
	const char *session, *label;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct words *words = state->input;
	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	if (!words->session && !words->label && ada_is_directory(argument))
		words->session = argument;
	else if (!words->label)
		words->label = argument;
	else
		ada_options_fail(state, "unexpected argument '%s': ada mark [SESSION] [LABEL]", argument);
	return 0;
}

int ada_cmd_mark(int argc, char **argv)
{
	static const struct argp argp = {
		.parser = parse,
		.args_doc = "[SESSION] [LABEL]",
		.doc = "Marks this moment in a session that is being recorded: the detail around it is kept."
		       "\vThe session's policy must have a rule `manual`, as it has by default. LABEL is noted with the mark."
	};
	struct words words = { 0 };
	struct ada_live live;
	struct ada_error error = { "" };
	json_object *request, *answer;
	ada_options_parse(&argp, argc, argv, 0, &words);
	if (ada_live_find(&live, words.session, &error))
		return ada_answer_fail(argv[0], &error);
	request = ada_live_request("mark");
	if (words.label)
		json_object_object_add(request, "label", json_object_new_string(words.label));
	if (ada_live_ask(&live, request, ANSWER_SECONDS, &answer, &error))
		return ada_answer_fail(argv[0], &error);
	uint64_t processes = ada_json_u64(answer, "processes", 0);
	printf("marked in %llu process%s\n", (unsigned long long)processes, processes == 1 ? "" : "es");
	json_object_put(answer);
	return 0;
}
