/* ada trigger add|remove|list|test: the policy of a live session, and a rule replayed over a stored one. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/units.h"
#include "cli/ground/answer.h"
#include "cli/ground/live.h"
#include "cli/ground/rows.h"
#include "cli/record/commands.h"
#include "cli/record/trigger_test.h"
#include "query/session/json.h"

#define ANSWER_SECONDS 60 /* patching functions late stops a large program for a while */

struct words {
	enum { ADD, REMOVE, LIST, TEST, NONE } verb;
	const char *session, *what;
	struct ada_reading reading; /* its session is ours */
	uint64_t limit;
};

enum { KEY_LIMIT = 'n' };

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
	struct ada_error error = { "" };
	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &words->reading; return 0;
	case KEY_LIMIT:
		if (ada_parse_count(argument, 1, UINT64_MAX, &words->limit, &error))
			ada_options_fail(state, "--limit: %s", error.text);
		return 0;
	case ARGP_KEY_ARG: take_argument(words, argument, state); return 0;
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
	int status = ada_live_ask(live, request, ANSWER_SECONDS, &answer, error);
	if (status)
		return status;
	printf("rule %llu, policy version %llu\n", (unsigned long long)ada_json_u64(answer, "id", 0),
	       (unsigned long long)ada_json_u64(answer, "policyVersion", 0));
	if (ada_json_text(answer, "warning", NULL))
		fprintf(stderr, "ada trigger: %s\n", ada_json_text(answer, "warning", NULL));
	json_object_put(answer);
	return 0;
}

static int take_away(const struct ada_live *live, const struct words *words, struct ada_error *error)
{
	json_object *request, *answer;
	uint64_t id;
	if (ada_parse_count(words->what, 0, UINT32_MAX, &id, NULL))
		return ada_error_set(error, EINVAL, "'%s' is no rule's number: `ada trigger list` shows them", words->what);
	request = ada_live_request("trigger-remove");
	json_object_object_add(request, "id", json_object_new_uint64(id));
	int status = ada_live_ask(live, request, ANSWER_SECONDS, &answer, error);
	if (status)
		return status;
	printf("policy version %llu\n", (unsigned long long)ada_json_u64(answer, "policyVersion", 0));
	json_object_put(answer);
	return 0;
}

/* Lists the rules of the policy that `ada status` shows, too. */
static int list(const struct ada_live *live, const struct words *words, struct ada_error *error)
{
	static const struct ada_column columns[] = { { "id", "ID", ADA_CELL_NUMBER },
						     { "since", "SINCE", ADA_CELL_NUMBER },
						     { "matches", "MATCHES", ADA_CELL_NUMBER },
						     { "marks", "MARKS", ADA_CELL_NUMBER },
						     { "rule", "RULE", ADA_CELL_NAME } };
	static struct ada_output output;
	enum ada_format format = words->reading.format;
	struct ada_rows rows;
	json_object *answer;
	int status = ada_live_ask(live, ada_live_request("trigger-list"), ANSWER_SECONDS, &answer, error);
	if (status)
		return status;
	const json_object *policy = ada_json_get(answer, "policy"), *rules = ada_json_get(policy, "rules");
	ada_output_open(&output, STDOUT_FILENO);
	ada_output_string(&output, format == ADA_FORMAT_JSON ? "{" : "");
	ada_rows_open(&rows, &output, format, "rows", columns, sizeof columns / sizeof *columns);
	for (size_t i = 0; i < ada_json_length(rules); i++) {
		const json_object *rule = json_object_array_get_idx(rules, i);
		struct ada_cell cells[] = { { .number = ada_json_u64(rule, "id", 0) },
					    { .number = ada_json_u64(rule, "since", 0) },
					    { .number = ada_json_u64(rule, "matches", 0) },
					    { .number = ada_json_u64(rule, "marks", 0) },
					    { .text = ada_json_text(rule, "rule", "") } };
		if (ada_rows_add(&rows, cells))
			status = ada_error_set(error, ENOMEM, "out of memory");
	}
	ada_rows_close(&rows);
	if (format == ADA_FORMAT_JSON) {
		ada_output_string(&output, "\"version\": ");
		ada_output_u64(&output, ada_json_u64(policy, "version", 0));
		ada_output_string(&output, ", \"hash\": ");
		ada_output_json(&output, ada_json_text(policy, "hash", ""));
		ada_output_string(&output, "}\n");
	}
	json_object_put(answer);
	return status ? status : ada_output_finish(&output, "ada trigger");
}

static int test(const char *command, struct words *words)
{
	struct ada_trigger_test test = { command, words->reading, words->what, words->limit };
	test.reading.session = words->session;
	return ada_trigger_test(&test);
}

int ada_cmd_trigger(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "limit", KEY_LIMIT, "N", 0, "test: print N rows at most", 0 },
		{ 0 },
	};
	struct argp formats = ada_reading_argp;
	const struct argp_child children[] = { { .argp = &formats }, { 0 } };
	const struct argp argp = {
		.options = options,
		.parser = parse,
		.children = children,
		.args_doc = "add [SESSION] RULE\nremove [SESSION] ID\nlist [SESSION]\ntest [SESSION] RULE",
		.doc = "The rules of a session that is being recorded: adds one, takes one away, lists them. `test` says when RULE would "
		       "have marked in a session that was recorded."
	};
	struct words words = { .verb = NONE, .limit = UINT64_MAX };
	struct ada_live live;
	struct ada_error error = { "" };
	formats.args_doc = NULL;
	ada_options_parse(&argp, argc, argv, 0, &words);
	if (words.verb == TEST)
		return test(argv[0], &words);
	int status = ada_live_find(&live, words.session, &error);
	if (!status)
		status = words.verb == ADD    ? add(&live, &words, &error) :
			 words.verb == REMOVE ? take_away(&live, &words, &error) :
						list(&live, &words, &error);
	return status ? ada_answer_fail(argv[0], &error) : 0;
}
