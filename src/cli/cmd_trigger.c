/* ada trigger add|remove|list|test: the policy of a live session, and a rule replayed over a stored one. */
#include <stdio.h>
#include <string.h>
#include "base/units.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/control_client.h"
#include "cli/rows.h"
#include "query/json.h"

#define ANSWER_SECONDS 60		/* patching functions late stops a large program for a while */

struct words {
	enum { ADD, REMOVE, LIST, TEST, NONE } verb;
	const char *session, *what;
	enum ada_format format;
};

static const char *const verbs[] = { "add", "remove", "list", "test" };
static const char *const usages[] = { "add [SESSION] RULE", "remove [SESSION] ID", "list [SESSION]", "test [SESSION] RULE" };

static void take_argument(struct words *words, char *argument, const struct argp_state *state)
{
	if (words->verb == NONE) {
		for (words->verb = ADD; words->verb < NONE && strcmp(argument, verbs[words->verb]);)
			words->verb++;
		if (words->verb == NONE)
			ada_options_fail(state, "'%s': must be one of add, remove, list, test", argument);
	} else if (!words->session && !words->what && ada_is_directory(argument)) {
		words->session = argument;
	} else if (!words->what && words->verb != LIST) {
		words->what = argument;
	} else {
		ada_options_fail(state, "unexpected argument '%s': ada trigger %s", argument, usages[words->verb]);
	}
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct words *words = state->input;
	switch (key) {
	case ARGP_KEY_INIT:
		words->verb = NONE;
		return 0;
	case ARGP_KEY_ARG:
		take_argument(words, argument, state);
		return 0;
	case ARGP_KEY_END:
		if (words->verb == NONE)
			ada_options_fail(state, "nothing to do: ada trigger add|remove|list|test");
		if (words->verb != LIST && !words->what)
			ada_options_fail(state, "which? ada trigger %s", usages[words->verb]);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static int add(const struct ada_live *live, const struct words *words, struct ada_error *error)
{
	json_object *request = ada_live_request("trigger-add"), *answer;
	json_object_object_add(request, "rule", json_object_new_string(words->what));
	int rc = ada_live_ask(live, request, ANSWER_SECONDS, &answer, error);
	if (rc)
		return rc;
	printf("rule %llu, policy version %llu\n", (unsigned long long)ada_json_u64(answer, "id", 0),
	       (unsigned long long)ada_json_u64(answer, "version", 0));
	json_object_put(answer);
	return 0;
}

static int take_away(const struct ada_live *live, const struct words *words, struct ada_error *error)
{
	json_object *request, *answer;
	uint64_t id;
	if (ada_parse_count(words->what, 0, UINT32_MAX, &id, NULL))
		return ada_error_set(error, 22, "'%s' is no rule's number: `ada trigger list` shows them", words->what);
	request = ada_live_request("trigger-remove");
	json_object_object_add(request, "id", json_object_new_uint64(id));
	int rc = ada_live_ask(live, request, ANSWER_SECONDS, &answer, error);
	if (rc)
		return rc;
	printf("policy version %llu\n", (unsigned long long)ada_json_u64(answer, "version", 0));
	json_object_put(answer);
	return 0;
}

int ada_cmd_trigger(int argc, char **argv)
{
	static const struct argp argp = { .parser = parse, .args_doc = "add [SESSION] RULE\nremove [SESSION] ID\nlist [SESSION]\n"
		"test [SESSION] RULE",
		.doc = "The rules of a session that is being recorded: adds one, takes one away, lists them. `test` says when RULE would "
		"have marked in a session that was recorded." };
	struct words words = { .verb = NONE };
	struct ada_live live;
	struct ada_error error = { "" };
	ada_options_parse(&argp, argc, argv, 0, &words);
	int rc = ada_live_find(&live, words.session, &error);
	if (!rc)
		rc = words.verb == ADD ? add(&live, &words, &error) : take_away(&live, &words, &error);
	return rc ? ada_answer_fail(argv[0], &error) : 0;
}
