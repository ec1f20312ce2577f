/* ada status [SESSION]: how a session that is being recorded stands. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>
#include "base/units.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/control_client.h"
#include "query/json.h"

#define ANSWER_SECONDS 10
#define SECOND_MS 1000

struct words { const char *session; bool json, watch; };

enum { KEY_JSON = 256 };

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct words *words = state->input;
	switch (key) {
	case KEY_JSON: words->json = true; return 0;
	case 'w': words->watch = true; return 0;
	case ARGP_KEY_ARG:
		if (words->session)
			ada_options_fail(state, "unexpected argument '%s': ada status [SESSION]", argument);
		words->session = argument;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const char *count_of(const json_object *object, const char *key, char text[ADA_UNITS_TEXT])
{
	return ada_format_count(ada_json_u64(object, key, 0), text);
}

/* What fits in one line; also the first of the long form. */
static void print_line(const json_object *status)
{
	char elapsed[ADA_UNITS_TEXT], events[ADA_UNITS_TEXT], rate[ADA_UNITS_TEXT], lost[ADA_UNITS_TEXT];
	uint64_t processes = ada_json_u64(status, "processes", 0);
	printf("%s: %s events, %s/s, %s lost, %llu process%s\n",
	       ada_format_duration(ada_json_u64(status, "nowNs", 0) - ada_json_u64(status, "startNs", 0), elapsed),
	       count_of(status, "events", events), count_of(status, "eventsPerSecond", rate), count_of(status, "lost", lost),
	       (unsigned long long)processes, processes == 1 ? "" : "es");
}

static void print_whole(const json_object *status)
{
	printf("%s: %s\n", ada_json_text(status, "session", "?"), ada_json_text(status, "program", "?"));
	print_line(status);
}

static void print(const struct words *words, json_object *status)
{
	bool redraw = words->watch && !words->json && isatty(STDOUT_FILENO);
	if (words->json) {
		json_object_object_del(status, "ok");
		puts(json_object_to_json_string_ext(status, (words->watch ? JSON_C_TO_STRING_PLAIN : JSON_C_TO_STRING_PRETTY) |
							    JSON_C_TO_STRING_NOSLASHESCAPE));
	} else if (words->watch && !redraw) {
		print_line(status);
	} else {
		fputs(redraw ? "\033[H\033[J" : "", stdout);
		print_whole(status);
	}
	fflush(stdout);
}

int ada_cmd_status(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "json", KEY_JSON, NULL, 0, "As a JSON object", 0 },
		{ "watch", 'w', NULL, 0, "Again each second, until the session ends", 0 },
		{ 0 },
	};
	static const struct argp argp = { .options = options, .parser = parse, .args_doc = "[SESSION]",
		.doc = "Prints how a session that is being recorded stands: events, losses, windows, and what the rules of its policy "
		"have matched." };
	struct words words = { 0 };
	struct ada_live live;
	struct ada_error error = { "" };
	json_object *status;
	ada_options_parse(&argp, argc, argv, 0, &words);
	int rc = ada_live_find(&live, words.session, &error);
	for (bool first = true; !rc; first = false) {
		rc = ada_live_ask(&live, ada_live_request("status"), ANSWER_SECONDS, &status, &error);
		if (rc == -ESRCH && !first)
			return 0;
		if (rc)
			break;
		print(&words, status);
		json_object_put(status);
		if (!words.watch || ferror(stdout))
			return 0;
		poll(NULL, 0, SECOND_MS);
	}
	return ada_answer_fail(argv[0], &error);
}
