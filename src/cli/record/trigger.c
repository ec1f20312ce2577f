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

#define ANSWER_MS 60000 /* patching functions late stops a large program for a while */

enum verb { ADD, REMOVE, LIST, TEST, NONE };

static const char *const verbs[] = { "add", "remove", "list", "test" };
static const char *const usages[] = { "add [SESSION] RULE", "remove [SESSION] ID", "list [SESSION]", "test [SESSION] RULE" };

/* Takes all words; *what is the RULE or ID. */
static enum verb take_words(struct ada_options *options, const char **what)
{
	const char *word = ada_options_word(options);
	enum verb verb = ADD;

	if (!word)
		ada_options_fail(options->command, "nothing to do: ada trigger add|remove|list|test");
	while (verb < NONE && strcmp(word, verbs[verb]))
		verb++;
	if (verb == NONE)
		ada_options_fail(options->command, "'%s': must be one of add, remove, list, test", word);
	ada_options_session(options);
	if (verb != LIST)
		*what = ada_options_word(options);
	if (*options->words && !options->session && *what && strchr(*what, '/'))
		ada_options_fail(options->command, "'%s' is no session directory: ada trigger %s", *what, usages[verb]);
	if (*options->words)
		ada_options_fail(options->command, "unexpected argument '%s': ada trigger %s", *options->words, usages[verb]);
	if (verb != LIST && !*what)
		ada_options_fail(options->command, "which? ada trigger %s", usages[verb]);
	return verb;
}

static int rule_add(const struct ada_live *live, const char *rule, struct ada_error *error)
{
	struct ada_live_rule added;
	int status = ada_live_add_rule(live, rule, &added, error);

	if (status)
		return status;
	printf("rule %llu, policy version %llu\n", (unsigned long long)added.id, (unsigned long long)added.policy_version);
	if (*added.warning)
		fprintf(stderr, "ada trigger: %s\n", added.warning);
	return 0;
}

static int take_away(const struct ada_live *live, const char *number, struct ada_error *error)
{
	json_object *request, *answer;
	uint64_t id;
	int status;

	if (ada_parse_count(number, 0, UINT32_MAX, &id, NULL))
		return ada_error_set(error, EINVAL, "'%s' is no rule's number: `ada trigger list` shows them", number);
	request = ada_live_request("trigger-remove");
	json_object_object_add(request, "id", json_object_new_uint64(id));
	status = ada_live_ask(live, request, ANSWER_MS, &answer, error);
	if (status)
		return status;
	printf("policy version %llu\n", (unsigned long long)ada_json_u64(answer, "policyVersion", 0));
	json_object_put(answer);
	return 0;
}

/* Lists the rules of the policy that `ada status` shows, too. */
static int list(const struct ada_live *live, enum ada_format format, struct ada_error *error)
{
	static const struct ada_column columns[] = { { "id", "ID", ADA_CELL_NUMBER },
						     { "since", "SINCE", ADA_CELL_NUMBER },
						     { "matches", "MATCHES", ADA_CELL_NUMBER },
						     { "marks", "MARKS", ADA_CELL_NUMBER },
						     { "rule", "RULE", ADA_CELL_NAME } };
	static struct ada_output output;
	struct ada_rows rows;
	json_object *answer;
	int status = ada_live_ask(live, ada_live_request("trigger-list"), ANSWER_MS, &answer, error);
	const json_object *policy, *rules;

	if (status)
		return status;
	policy = ada_json_get(answer, "policy");
	rules = ada_json_get(policy, "rules");
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

static const struct ada_usage usage = {
	"add [SESSION] RULE\nremove [SESSION] ID\nlist [SESSION]\ntest [SESSION] RULE",
	"The rules of a session that is being recorded: adds one, takes one away, lists them. `test` says when RULE would "
	"have marked in a session that was recorded.",
};

int ada_cmd_trigger(int argc, char **argv)
{
	struct ada_options options = {};
	struct ada_live live;
	struct ada_error error = { "" };
	const char *what = NULL;
	enum verb verb;
	int status;

	ada_options_take(&options, &usage, argc, argv);
	verb = take_words(&options, &what);
	if (verb == TEST)
		return ada_trigger_test(&(struct ada_trigger_test){ argv[0], &options, what });
	status = ada_live_find(&live, options.session, &error);
	if (!status)
		status = verb == ADD	? rule_add(&live, what, &error) :
			 verb == REMOVE ? take_away(&live, what, &error) :
					  list(&live, options.format, &error);
	return status ? ada_answer_fail(argv[0], &error) : 0;
}
