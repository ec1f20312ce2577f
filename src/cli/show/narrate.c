/* ada narrate: what happened, in sentences that cite their events. */
#include <string.h>
#include <unistd.h>
#include "cli/ground/answer.h"
#include "cli/ground/rows.h"
#include "cli/show/commands.h"
#include "query/narrate/narrate.h"

static const struct ada_usage usage = {
	"[SESSION]",
	"Tells what happened in a recording: what ran, what each thread did, what was lost, and around each window what"
	" triggered it, how the program came there, what was unusual and what followed."
	"\vEach sentence cites its evidence: [thread 3 #120-135] are the events with index_seq 120 to 135 of thread 3, which `ada"
	" dump` prints. What is usual for a function is that of the whole recording.",
};

#define WIDTH 120 /* of lines where no terminal says it */

/* Columns of a line; 0: a line a sentence, for whoever reads all of them by a program. */
static unsigned int find_width(bool all)
{
	unsigned int columns = ada_output_columns();

	if (columns)
		return columns;
	return all ? 0 : WIDTH;
}

static void print(struct ada_output *output, const struct ada_narrative *narrative, const struct ada_narrative_style *style)
{
	enum ada_narrative_format format = style->format;
	bool several = narrative->session->processes.count > 1;

	ada_output_string(output, format == ADA_NARRATIVE_JSON ? "{" : "");
	ada_narrative_print(output, narrative, style);
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
	struct ada_options options = {};
	struct ada_narrative narrative = {};
	struct ada_selection selection = {};
	struct ada_session *session = NULL;
	struct ada_error error = {};
	int status;

	ada_options_take(&options, &usage, argc, argv);
	status = ada_answer_open(argv[0], &options, &session);
	if (status)
		return status;
	ada_output_open(&output, STDOUT_FILENO);
	if (ada_clock_view_set(session, options.clock, &error) ||
	    ada_selection_open(&selection, session, options.thread, options.from, options.to, &error) ||
	    ada_narrate(&narrative, &selection,
			&(struct ada_narrate_options){ .in_window = options.window != UINT64_MAX,
						       .window = options.window,
						       .full_names = options.full_names,
						       .brief = !options.all && options.narrative != ADA_NARRATIVE_JSON },
			&error)) {
		status = ada_answer_fail(argv[0], &error);
	} else {
		print(&output, &narrative,
		      &(struct ada_narrative_style){ .format = (enum ada_narrative_format)options.narrative,
						     .all = options.all,
						     .width = find_width(options.all) });
		status = ada_answer_finish(argv[0], &output, session);
	}
	ada_narrative_free(&narrative);
	ada_selection_close(&selection);
	ada_session_close(session);
	return status;
}
