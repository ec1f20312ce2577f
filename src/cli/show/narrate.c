/* ada narrate: what happened, in sentences that cite their events. */
#include <string.h>
#include <unistd.h>
#include "cli/ground/answer.h"
#include "cli/ground/rows.h"
#include "cli/show/commands.h"
#include "query/narrate/narrate.h"

struct options {
	struct ada_reading reading; /* only its session counts: the formats are others */
	struct ada_narrowing narrowing;
	enum ada_narrative_format format;
};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &options->narrowing; return 0;
	case 'f':
		if (!strcmp(argument, "text"))
			options->format = ADA_NARRATIVE_TEXT;
		else if (!strcmp(argument, "markdown"))
			options->format = ADA_NARRATIVE_MARKDOWN;
		else if (!strcmp(argument, "json"))
			options->format = ADA_NARRATIVE_JSON;
		else
			ada_options_fail(state, "unknown format '%s': it is text, markdown or json", argument);
		return 0;
	case ARGP_KEY_ARG:
		if (options->reading.session)
			ada_options_fail(state, "unexpected argument '%s': one SESSION is read at a time", argument);
		options->reading.session = argument;
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options =
		(const struct argp_option[]){
			{ "format", 'f', "FORMAT", 0, "text (default), markdown or json", 0 },
			{},
		},
	.parser = parse_option,
	.args_doc = "[SESSION]",
	.doc = "Tells what happened in a recording: what ran, what each thread did, what was lost, and around each window what"
	       " triggered it, how the program came there, what was unusual and what followed."
	       "\vEach sentence cites its evidence: [thread 3 #120-135] are the events with index_seq 120 to 135 of thread 3, which `ada"
	       " dump` prints. What is usual for a function is that of the whole recording.",
	.children = (const struct argp_child[]){ { .argp = &ada_cut_argp }, {} },
};

static void print(struct ada_output *output, const struct ada_narrative *narrative, enum ada_narrative_format format)
{
	bool several = narrative->session->processes.count > 1;

	ada_output_string(output, format == ADA_NARRATIVE_JSON ? "{" : "");
	ada_narrative_print(output, narrative, format);
	if (format == ADA_NARRATIVE_JSON) {
		ada_completeness_json(output, &narrative->completeness);
		return;
	}
	ada_output_string(output, "\n");
	ada_completeness_text(output, &narrative->completeness);
	if (!narrative->completeness.events)
		return;
	ada_output_string(output, format == ADA_NARRATIVE_MARKDOWN ? "\n" : "");
	ada_output_string(
		output,
		several ?
			"Of a citation like [pid_N thread 3 #120-135], `ada dump --thread=3 --seq=120-135 SESSION/pid_N` prints the events.\n" :
			"Of a citation like [thread 3 #120-135], `ada dump --thread=3 --seq=120-135 SESSION` prints the events.\n");
}

int ada_cmd_narrate(int argc, char **argv)
{
	static struct ada_output output;
	struct options options = {};
	struct ada_narrative narrative = {};
	struct ada_selection selection = {};
	struct ada_session *session = NULL;
	struct ada_error error = {};
	int status;

	ada_options_parse(&argp, argc, argv, 0, &options);
	status = ada_answer_open(argv[0], &options.reading, &session);
	if (status)
		return status;
	ada_output_open(&output, STDOUT_FILENO);
	if (ada_clock_view_set(session, options.narrowing.clock, &error) ||
	    ada_selection_open(&selection, session, options.narrowing.thread, options.narrowing.from, options.narrowing.to, &error) ||
	    ada_narrate(&narrative, &selection,
			&(struct ada_narrate_options){ .in_window = options.narrowing.in_window, .window = options.narrowing.window },
			&error)) {
		status = ada_answer_fail(argv[0], &error);
	} else {
		print(&output, &narrative, options.format);
		status = ada_answer_finish(argv[0], &output, session);
	}
	ada_narrative_free(&narrative);
	ada_selection_close(&selection);
	ada_session_close(session);
	return status;
}
