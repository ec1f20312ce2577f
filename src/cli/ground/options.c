/* Options that several commands share.
 *
 * On a bad option getopt says in one line what is wrong, and argp would add a second line ("Try ..."). Therefore the command's parser
 * runs as a child of a parser that sends argp's own messages nowhere; a parser that fails calls ada_options_fail.
 */
#include "cli/ground/options.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/units.h"

void ada_options_fail(const struct argp_state *state, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fprintf(stderr, "%s: ", state->argv[0]);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	exit(ADA_EXIT_FAILED);
}

static error_t parse_first(int key, char *argument, struct argp_state *state)
{
	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	state->child_inputs[0] = state->input;
	state->err_stream = fopen("/dev/null", "we");
	return state->err_stream ? 0 : errno;
}

/* Comes last, for arguments that no parser wanted. */
static error_t parse_last(int key, char *argument, struct argp_state *state)
{
	if (key == ARGP_KEY_ARGS)
		ada_options_fail(state, "unexpected argument '%s'", state->argv[state->next]);
	return ARGP_ERR_UNKNOWN;
}

void ada_options_parse(const struct argp *argp, int argc, char **argv, unsigned int flags, void *input)
{
	static const struct argp last = { .parser = parse_last };
	struct argp_child children[] = { { .argp = argp }, { .argp = &last }, {} };
	struct argp first = { .parser = parse_first, .children = children };
	error_t error;

	argp_err_exit_status = ADA_EXIT_FAILED;
	error = argp_parse(&first, argc, argv, flags, NULL, input);
	if (error) {
		fprintf(stderr, "%s: %s\n", argv[0], strerror(error));
		exit(ADA_EXIT_FAILED);
	}
}

static error_t parse_reading(int key, char *argument, struct argp_state *state)
{
	struct ada_reading *reading = state->input;

	switch (key) {
	case 'f':
		if (!strcmp(argument, "text"))
			reading->format = ADA_FORMAT_TEXT;
		else if (!strcmp(argument, "json"))
			reading->format = ADA_FORMAT_JSON;
		else if (!strcmp(argument, "csv"))
			reading->format = ADA_FORMAT_CSV;
		else
			ada_options_fail(state, "unknown format '%s': it is text, json or csv", argument);
		return 0;
	case ARGP_KEY_ARG:
		if (reading->session)
			ada_options_fail(state, "unexpected argument '%s': one SESSION is read at a time", argument);
		reading->session = argument;
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

const struct argp ada_reading_argp = {
	.options =
		(const struct argp_option[]){
			{ "format", 'f', "FORMAT", 0, "text (default), json or csv", 0 },
			{},
		},
	.parser = parse_reading,
	.args_doc = "[SESSION]",
};

error_t ada_reading_parse(int key, char *argument, struct argp_state *state)
{
	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	state->child_inputs[0] = state->input;
	return 0;
}

enum { OPTION_FROM = 0x1000, OPTION_TO, OPTION_WINDOW };

static error_t parse_cut(int key, char *argument, struct argp_state *state)
{
	struct ada_narrowing *narrowing = state->input;
	struct ada_error error = {};

	switch (key) {
	case ARGP_KEY_INIT: narrowing->limit = UINT64_MAX; return 0;
	case 't': narrowing->thread = argument; return 0;
	case OPTION_FROM: narrowing->from = argument; return 0;
	case OPTION_TO: narrowing->to = argument; return 0;
	case ADA_OPTION_CLOCK: narrowing->clock = argument; return 0;
	case OPTION_WINDOW:
		if (ada_parse_count(argument, 0, UINT64_MAX, &narrowing->window, &error))
			ada_options_fail(state, "--window: %s", error.text);
		narrowing->in_window = true;
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

const struct argp ada_cut_argp = {
	.options =
		(const struct argp_option[]){
			{ "thread", 't', "THREAD", 0, "only this one: its number, OS thread id or name", 0 },
			{ "from", OPTION_FROM, "TIME", 0, "from +1.5s after the session's start on, or ns", 0 },
			{ "to", OPTION_TO, "TIME", 0, "before this time", 0 },
			ADA_CLOCK_OPTION,
			{ "window", OPTION_WINDOW, "N", 0, "only window N of `ada windows`, in its process", 0 },
			{},
		},
	.parser = parse_cut,
};

static error_t parse_limit(int key, char *argument, struct argp_state *state)
{
	struct ada_narrowing *narrowing = state->input;
	struct ada_error error = {};

	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = narrowing; return 0;
	case 'n':
		if (ada_parse_count(argument, 1, UINT64_MAX, &narrowing->limit, &error))
			ada_options_fail(state, "--limit: %s", error.text);
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

const struct argp ada_narrowing_argp = {
	.options =
		(const struct argp_option[]){
			{ "limit", 'n', "N", 0, "at most N rows", 0 },
			{},
		},
	.parser = parse_limit,
	.children = (const struct argp_child[]){ { .argp = &ada_cut_argp }, {} },
};
