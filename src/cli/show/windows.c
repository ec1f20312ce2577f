/* ada windows: which stretches of time kept their detail, and why. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/units.h"
#include "cli/ground/answer.h"
#include "cli/ground/rows.h"
#include "cli/show/commands.h"
#include "query/session/selection.h"
#include "query/session/windows.h"

enum field {
	WINDOW,
	PROCESS,
	START,
	START_NS,
	END_NS,
	DURATION,
	KIND,
	KINDS,
	MARKS,
	EVENTS,
	PRE,
	POST,
	ASKED_PRE,
	ASKED_POST,
	POLICY,
	SHORT,
	FIELDS_BOOT,
	CLOCK_START_NS = FIELDS_BOOT,
	CLOCK_END_NS,
	FIELDS
};

static const struct ada_column columns[FIELDS] = {
	[WINDOW] = { "window", "WINDOW", ADA_CELL_NUMBER },
	[PROCESS] = { "process", "PROCESS", ADA_CELL_TEXT },
	[START] = { "start", "START", ADA_CELL_TEXT },
	[START_NS] = { "startNs", NULL, ADA_CELL_NUMBER },
	[END_NS] = { "endNs", NULL, ADA_CELL_NUMBER },
	[DURATION] = { "duration_ns", "DURATION", ADA_CELL_DURATION },
	[KIND] = { "triggerKind", NULL, ADA_CELL_TEXT },
	[KINDS] = { "triggerKinds", "TRIGGERS", ADA_CELL_NAME },
	[MARKS] = { "markedCount", "MARKS", ADA_CELL_NUMBER },
	[EVENTS] = { "eventCount", "EVENTS", ADA_CELL_NUMBER },
	[PRE] = { "preRollSec", "PRE-ROLL", ADA_CELL_WRITTEN },
	[POST] = { "postRollSec", "POST-ROLL", ADA_CELL_WRITTEN },
	[ASKED_PRE] = { "requestedPreRollSec", NULL, ADA_CELL_WRITTEN },
	[ASKED_POST] = { "requestedPostRollSec", NULL, ADA_CELL_WRITTEN },
	[POLICY] = { "keySymbolVersion", NULL, ADA_CELL_TEXT },
	[SHORT] = { "shortReason", "SHORT", ADA_CELL_NAME },
	[CLOCK_START_NS] = { "clock_start_ns", NULL, ADA_CELL_WRITTEN }, /* with --clock */
	[CLOCK_END_NS] = { "clock_end_ns", NULL, ADA_CELL_WRITTEN },
};

static const struct ada_usage usage = {
	"[SESSION]",
	"Lists the windows of a session: stretches of time of one process whose registers and stacks were kept."
	"\vSHORT says why a window has less before or after its marks than was asked for. json has the manifest's own fields,"
	" marks included. `ada dump` shows what one of them holds.",
};

/* Seconds: in text as a duration, else as the manifest wrote them. */
static struct ada_cell seconds_of(const json_object *entry, const char *field, enum ada_format format, char text[ADA_UNITS_TEXT])
{
	json_object *value = ada_json_get(entry, field);
	double seconds;

	if (!json_object_is_type(value, json_type_double) && !json_object_is_type(value, json_type_int))
		return (struct ada_cell){ .text = "", .absent = true };
	seconds = json_object_get_double(value);
	if (format == ADA_FORMAT_TEXT && seconds >= 0 && seconds < 1e9)
		return (struct ada_cell){ .text = ada_format_duration((uint64_t)(seconds * 1e9 + 0.5), text) };
	return (struct ada_cell){ .text = json_object_get_string(value) };
}

static struct ada_cell text_of(const json_object *entry, const char *field)
{
	const char *text = ada_json_text(entry, field, NULL);

	return (struct ada_cell){ .text = text ? text : "", .absent = !text };
}

/* ns of the view's clock. */
static struct ada_cell told_of(const struct ada_session *session, uint64_t ns, char text[ADA_UNITS_TEXT])
{
	int64_t told = 0;
	bool known = ns != UINT64_MAX && ada_clock_view_ns(&session->view, ns, &told);

	snprintf(text, ADA_UNITS_TEXT, "%" PRId64, told);
	return (struct ada_cell){ .text = text, .absent = !known };
}

static void add_row(struct ada_rows *rows, const struct ada_session *session, size_t number)
{
	const struct ada_recorded_window *window = &session->windows.items[number];
	const json_object *entry = window->entry;
	bool open = window->end_ns == UINT64_MAX;
	char start[ADA_CLOCK_TEXT], rolls[4][ADA_UNITS_TEXT], told[2][ADA_UNITS_TEXT], *kinds = ada_window_kinds(entry);

	ada_rows_add(rows, (const struct ada_cell[FIELDS]){
				   [WINDOW] = { .number = number },
				   [PROCESS] = { .text = window->process->directory },
				   [START] = { .text = ada_clock_view_text(session, window->start_ns, start) },
				   [START_NS] = { .number = window->start_ns },
				   [END_NS] = { .number = window->end_ns, .absent = open },
				   [DURATION] = { .number = window->end_ns - window->start_ns,
						  .absent = open || window->end_ns < window->start_ns },
				   [KIND] = text_of(entry, "triggerKind"),
				   [KINDS] = { .text = kinds && *kinds ? kinds : ada_json_text(entry, "triggerKind", "?") },
				   [MARKS] = { .number = window->marked_count },
				   [EVENTS] = { .number = window->event_count },
				   [PRE] = seconds_of(entry, "preRollSec", rows->format, rolls[0]),
				   [POST] = seconds_of(entry, "postRollSec", rows->format, rolls[1]),
				   [ASKED_PRE] = seconds_of(entry, "requestedPreRollSec", rows->format, rolls[2]),
				   [ASKED_POST] = seconds_of(entry, "requestedPostRollSec", rows->format, rolls[3]),
				   [POLICY] = text_of(entry, "keySymbolVersion"),
				   [SHORT] = text_of(entry, "shortReason"),
				   [CLOCK_START_NS] = told_of(session, window->start_ns, told[0]),
				   [CLOCK_END_NS] = told_of(session, window->end_ns, told[1]),
			   });
	free(kinds);
}

/* The manifest's object as it is, behind the window's number and its process. */
static void print_entry(struct ada_output *output, const struct ada_session *session, size_t number, bool has_clock)
{
	const struct ada_recorded_window *window = &session->windows.items[number];
	const char *fields = json_object_to_json_string_ext((json_object *)window->entry, JSON_C_TO_STRING_PLAIN);
	char told[2][ADA_UNITS_TEXT];

	ada_output_string(output, number ? ",\n{\"window\": " : "{\"window\": ");
	ada_output_u64(output, number);
	ada_output_string(output, ", \"process\": ");
	ada_output_json(output, window->process->directory);
	if (has_clock) {
		struct ada_cell cells[2] = { told_of(session, window->start_ns, told[0]), told_of(session, window->end_ns, told[1]) };

		ada_output_string(output, ", \"clock_start_ns\": ");
		ada_output_string(output, cells[0].absent ? "null" : told[0]);
		ada_output_string(output, ", \"clock_end_ns\": ");
		ada_output_string(output, cells[1].absent ? "null" : told[1]);
	}
	if (json_object_object_length(window->entry))
		ada_output_string(output, ", ");
	ada_output_utf8(output, fields + strlen("{")); /* and its closing brace */
}

static void print_json(struct ada_output *output, const struct ada_session *session, bool has_clock)
{
	struct ada_completeness completeness = ada_session_completeness(session);

	ada_output_string(output, "{\"rows\": [");
	for (size_t i = 0; i < session->windows.count; i++)
		print_entry(output, session, i, has_clock);
	ada_output_string(output, "],\n");
	ada_completeness_json(output, &completeness);
}

static const char *no_window(const struct ada_session *session)
{
	for (size_t i = 0; i < session->processes.count; i++)
		if (!session->processes.items[i]->manifest)
			return "No window is known: they are in the manifest, which can't be read.\n";
	return "No window: nothing marked, or detail was off.\n";
}

static void print_table(struct ada_output *output, const struct ada_session *session, enum ada_format format, bool has_clock)
{
	struct ada_completeness completeness;
	struct ada_rows rows;

	if (format == ADA_FORMAT_TEXT && !session->windows.count) {
		ada_output_string(output, no_window(session));
	} else {
		ada_rows_open(&rows, output, format, "rows", columns, has_clock ? FIELDS : FIELDS_BOOT);
		for (size_t i = 0; i < session->windows.count; i++)
			add_row(&rows, session, i);
		ada_rows_close(&rows);
	}
	if (format != ADA_FORMAT_TEXT)
		return;
	completeness = ada_session_completeness(session);
	ada_completeness_text(output, &completeness);
}

int ada_cmd_windows(int argc, char **argv)
{
	static struct ada_output output;
	struct ada_options options = {};
	struct ada_session *session;
	struct ada_error error = {};
	int status;

	ada_options_take(&options, &usage, argc, argv);
	status = ada_answer_open(argv[0], &options, &session);
	if (status)
		return status;
	ada_output_open(&output, STDOUT_FILENO);
	if (ada_clock_view_set(session, options.clock, &error)) {
		status = ada_answer_fail(argv[0], &error);
	} else {
		if (options.format == ADA_FORMAT_JSON)
			print_json(&output, session, options.clock);
		else
			print_table(&output, session, options.format, options.clock);
		status = ada_answer_finish(argv[0], &output, session);
	}
	ada_session_close(session);
	return status;
}
