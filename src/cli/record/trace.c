/* ada trace [OPTION]... [--] PROGRAM [ARG]... */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "base/clock.h"
#include "cli/ground/leftovers.h"
#include "cli/ground/options.h"
#include "cli/record/commands.h"
#include "cli/record/fold.h"
#include "cli/record/herald.h"
#include "cli/record/trace_options.h"
#include "query/tally/sums.h"
#include "recover/keeper.h"

#define SUM_UP_NS 200000000u /* at the end of a recording */

/* The program: all that follows is its own. */
static error_t parse_program(int key, char *argument, struct argp_state *state)
{
	struct ada_trace_words *words = state->input;

	if (key == ARGP_KEY_INIT) {
		state->child_inputs[0] = words;
		return 0;
	}
	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	words->options->command = &state->argv[state->next - 1];
	state->next = state->argc;
	return 0;
}

/* What its threads add up to, for the first report, as far as a moment suffices. Nobody hears of what fails: reports count by themselves. */
static void sum_up(const char *path, uint64_t events)
{
	struct ada_sums_how how = { .least = ADA_SUMS_LEAST };
	struct ada_session *session;
	struct ada_error error;

	if (events < ADA_SUMS_LEAST || ada_session_open(&session, path, &error))
		return;
	how.until_ns = ada_clock_boottime_ns() + SUM_UP_NS;
	ada_sums_write(session, &how, &error);
	ada_session_close(session);
}

int ada_cmd_trace(int argc, char **argv)
{
	const struct argp_child children[] = { { .argp = ada_trace_argp() }, { 0 } };
	const struct argp argp = {
		.parser = parse_program,
		.args_doc = "PROGRAM [ARG]...",
		.children = children,
		.doc = "Runs PROGRAM and records every call and return of its functions.\v"
		       "Its exit status is the program's, 128+N if signal N killed it; 125: ada failed, 126: PROGRAM can't be executed or "
		       "traced, 127: not found. Interrupt (Ctrl-C) reaches the program; a second one ends the recording."
	};
	struct ada_trace_options options;
	struct ada_trace_words words;
	struct ada_herald herald = {};
	int exit_status = ADA_EXIT_FAILED, status;

	ada_trace_words_open(&words, &options);
	options.keep = ada_keeper_start;
	options.fold = ada_fold_closed;
	options.finished = sum_up;
	ada_options_parse(&argp, argc, argv, ARGP_IN_ORDER, &words);
	if (!options.quiet)
		ada_leftovers_notice(options.output);
	status = ada_trace_words_check(&words);
	if (!status && !options.command)
		status = ada_error_set(&words.error, EINVAL,
				       "no program to trace: ada trace [OPTION]... PROGRAM [ARG]..., such as `ada trace ls -l`");
	status = status ?: ada_herald_start(&herald, words.on_window, &words.error);
	if (herald.recorder)
		options.announce = herald.recorder;
	if (!status)
		status = ada_trace(&options, &exit_status, &words.error);
	if (status)
		fprintf(stderr, "%s: %s\n", argv[0], *words.error.text ? words.error.text : strerror(-status));
	ada_herald_end(&herald);
	ada_trace_words_close(&words);
	return exit_status;
}
