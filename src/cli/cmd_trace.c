/* ada trace [OPTION]... [--] PROGRAM [ARG]... */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "recorder/recorder.h"

enum key {
	KEY_MODULES = 256, KEY_FUNCTIONS, KEY_EXCLUDE, KEY_NO_LIBCALLS, KEY_NO_FOLLOW, KEY_INDEX_MODE, KEY_INDEX_BUFFER,
	KEY_ON_FULL, KEY_SEGMENT_SIZE,
};

static const struct argp_option options_table[] = {
	{ "output", 'o', "DIR", 0, "Make the session in DIR (default: ada_traces)", 0 },
	{ "quiet", 'q', NULL, 0, "No progress and no summary", 0 },
	{ "no-follow", KEY_NO_FOLLOW, NULL, 0, "Record the program only, not the processes that it starts", 0 },
	{ NULL, 0, NULL, 0, "What is recorded (each may be given several times; a PATTERN is a name, a glob, or re:REGEX):", 1 },
	{ "modules", KEY_MODULES, "GLOB", 0, "Also the functions of libraries whose path or file name fits", 0 },
	{ "functions", KEY_FUNCTIONS, "PATTERN", 0, "Only functions that fit", 0 },
	{ "exclude", KEY_EXCLUDE, "PATTERN", 0, "No functions that fit", 0 },
	{ "no-libcalls", KEY_NO_LIBCALLS, NULL, 0, "No calls of library functions", 0 },
	{ NULL, 0, NULL, 0, "How it is buffered, for each process:", 2 },
	{ "index-buffer", KEY_INDEX_BUFFER, "SIZE", 0, "Shared memory for events (default: 64M; 1M to 16G)", 0 },
	{ "index-mode", KEY_INDEX_MODE, "MODE", 0, "streaming (default), oneshot: stop when full, circular: keep the newest", 0 },
	{ "on-full", KEY_ON_FULL, "drop|block", 0, "When the disk can't keep up: count what is lost (default), or wait", 0 },
	{ "segment-size", KEY_SEGMENT_SIZE, "SIZE", 0, "Begin a thread's next file at SIZE (64K to 1T)", 0 },
	{ 0 },
};

struct parse { struct ada_trace_options *options; struct ada_error error; };

static int add_string(struct ada_strings *strings, const char *text, struct ada_error *error)
{
	return ada_array_push(strings, text) ? ada_error_system(error, ENOMEM, "%s", text) : 0;
}

static int choose(const char *option, const char *text, const char *const *choices, int *choice, struct ada_error *error)
{
	char list[128] = "";
	for (int i = 0; choices[i]; i++) {
		if (!strcmp(text, choices[i])) {
			*choice = i;
			return 0;
		}
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i ? ", " : "", choices[i]);
	}
	return ada_error_set(error, EINVAL, "--%s=%s: must be one of %s", option, text, list);
}

static int size_between(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *bytes, struct ada_error *error)
{
	char low[ADA_UNITS_TEXT], high[ADA_UNITS_TEXT];
	struct ada_error unreadable = { 0 };
	if (ada_parse_size(text, bytes, &unreadable))
		return ada_error_set(error, EINVAL, "--%s: %s", option, unreadable.text);
	if (*bytes < min || *bytes > max)
		return ada_error_set(error, ERANGE, "--%s=%s: must be between %s and %s", option, text, ada_format_size(min, low),
				     ada_format_size(max, high));
	return 0;
}

static int take(int key, char *argument, struct parse *parse)
{
	static const char *const modes[] = { "streaming", "oneshot", "circular", NULL }, *const fulls[] = { "drop", "block", NULL };
	struct ada_trace_options *options = parse->options;
	int rc = 0, choice = 0;
	switch (key) {
	case 'o':
		options->output = argument;
		return *argument ? 0 : ada_error_set(&parse->error, EINVAL, "--output: names no directory");
	case 'q': options->quiet = true; return 0;
	case KEY_NO_FOLLOW: options->follow = false; return 0;
	case KEY_NO_LIBCALLS: options->libcalls = false; return 0;
	case KEY_MODULES: return add_string(&options->modules, argument, &parse->error);
	case KEY_FUNCTIONS: return add_string(&options->functions, argument, &parse->error);
	case KEY_EXCLUDE: return add_string(&options->exclude, argument, &parse->error);
	case KEY_INDEX_BUFFER:
		return size_between("index-buffer", argument, ADA_INDEX_BUFFER_MIN, ADA_INDEX_BUFFER_MAX, &options->index_buffer_bytes,
				    &parse->error);
	case KEY_SEGMENT_SIZE:
		return size_between("segment-size", argument, ADA_SEGMENT_MIN, ADA_SEGMENT_MAX, &options->segment_bytes, &parse->error);
	case KEY_INDEX_MODE:
		rc = choose("index-mode", argument, modes, &choice, &parse->error);
		options->index_mode = (enum ada_index_mode)choice;
		return rc;
	case KEY_ON_FULL:
		rc = choose("on-full", argument, fulls, &choice, &parse->error);
		options->on_full = (enum ada_on_full)choice;
		return rc;
	}
	return ARGP_ERR_UNKNOWN;
}

static error_t parse_one(int key, char *argument, struct argp_state *state)
{
	struct parse *parse = state->input;
	if (key == ARGP_KEY_ARG) {	/* the program: all that follows is its own */
		parse->options->command = &state->argv[state->next - 1];
		state->next = state->argc;
		return 0;
	}
	int rc = take(key, argument, parse);
	if (rc < 0)
		ada_options_fail(state, "%s", parse->error.text);
	return rc;
}

int ada_cmd_trace(int argc, char **argv)
{
	static const struct argp argp = { options_table, parse_one, "PROGRAM [ARG]...",
		"Runs PROGRAM and records every call and return of its functions.\v"
		"Its exit status is the program's, 128+N if signal N killed it; 125: ada failed, 126: PROGRAM can't be executed or "
		"traced, 127: not found. Interrupt (Ctrl-C) reaches the program; a second one ends the recording.", NULL, NULL, NULL };
	struct ada_trace_options options = { .output = "ada_traces", .follow = true, .libcalls = true,
					     .index_buffer_bytes = ADA_INDEX_BUFFER_DEFAULT };
	struct parse parse = { .options = &options };
	int status = ADA_EXIT_FAILED, rc = 0;
	ada_options_parse(&argp, argc, argv, ARGP_IN_ORDER, &parse);
	if (!options.command)
		rc = ada_error_set(&parse.error, EINVAL, "no program to trace: ada trace [OPTION]... PROGRAM [ARG]...");
	if (!rc)
		rc = ada_trace(&options, &status, &parse.error);
	if (rc)
		fprintf(stderr, "ada: %s\n", *parse.error.text ? parse.error.text : strerror(-rc));
	ada_array_free(&options.modules);
	ada_array_free(&options.functions);
	ada_array_free(&options.exclude);
	return status;
}
