/* ada windows: which stretches of time kept their detail, and why. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/units.h"
#include "cli/ground/answer.h"
#include "cli/ground/rows.h"
#include "cli/show/commands.h"
#include "cli/show/windows_table.h"
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
	FUNCTION,
	KEY,
	VALUE,
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
	[FUNCTION] = { "function", "MARKED", ADA_CELL_FUNCTION },
	[KEY] = { "key", "KEY", ADA_CELL_WRITTEN },
	[VALUE] = { "value", "VALUE", ADA_CELL_WRITTEN },
	[CLOCK_START_NS] = { "clock_start_ns", NULL, ADA_CELL_WRITTEN }, /* with --clock */
	[CLOCK_END_NS] = { "clock_end_ns", NULL, ADA_CELL_WRITTEN },
};

/* The mark of a window that is told of in its row: the one with the largest value, else the first that has a function, else the first. */
struct worst {
	const json_object *mark; /* NULL: the window lists none */
	json_object *value;	 /* NULL: no single number was compared */
	double number;
};

struct row {
	size_t number; /* of the window */
	struct worst worst;
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

/* For people also that a window goes on; programs have "settled". */
static struct ada_cell short_of(const json_object *entry, enum ada_format format)
{
	if (format == ADA_FORMAT_TEXT && !ada_json_bool(entry, "settled", true))
		return (struct ada_cell){ .text = "not settled yet: a mark's post-roll goes on, or its detail is being written" };
	return text_of(entry, "shortReason");
}

/* ns of the view's clock. */
static struct ada_cell told_of(const struct ada_session *session, uint64_t ns, char text[ADA_UNITS_TEXT])
{
	int64_t told = 0;
	bool known = ns != UINT64_MAX && ada_clock_view_ns(&session->view, ns, &told);

	snprintf(text, ADA_UNITS_TEXT, "%" PRId64, told);
	return (struct ada_cell){ .text = text, .absent = !known };
}

static struct worst worst_of(const json_object *entry)
{
	const json_object *marks = ada_json_get(entry, "marks");
	struct worst worst = { NULL };

	for (size_t i = 0; i < ada_json_length(marks); i++) {
		const json_object *mark = json_object_array_get_idx(marks, i);
		json_object *value = ada_json_get(mark, "value");
		double number = value ? json_object_get_double(value) : 0;
		bool better = !worst.mark || (value && (!worst.value || number > worst.number)) ||
			      (!value && !worst.value && !ada_json_get(worst.mark, "functionId") && ada_json_get(mark, "functionId"));

		if (better)
			worst = (struct worst){ mark, value, number };
	}
	return worst;
}

/* The function that the mark is of. */
static struct ada_cell function_of(const struct ada_process *process, const struct worst *worst, char buffer[ADA_NAME_BUFFER])
{
	uint64_t id = ada_json_u64(worst->mark, "functionId", UINT64_MAX);

	if (!worst->mark || id == UINT64_MAX)
		return (struct ada_cell){ .text = "", .absent = true };
	return (struct ada_cell){ .text = ada_module_function(ada_process_module(process, id), id, buffer) };
}

/* Of a rule from one call to another, what was equal. */
static struct ada_cell key_of(const struct ada_process *process, const struct worst *worst, struct ada_mark_span *span)
{
	bool known = worst->mark && ada_mark_span(process, worst->mark, span);

	return (struct ada_cell){ .text = known ? span->key : "", .absent = !known };
}

/* Of a rule about how long calls take, in text a duration; else the number, in the unit of the rule. */
static struct ada_cell value_of(const struct worst *worst, enum ada_format format, char text[ADA_UNITS_TEXT])
{
	const char *kind = ada_json_text(worst->mark, "kind", "");
	bool duration = !strncmp(kind, "latency", 7) || (*kind == 'p' && strspn(kind + 1, "0123456789.") > 0);

	if (!worst->mark || !worst->value)
		return (struct ada_cell){ .text = "", .absent = true };
	if (format == ADA_FORMAT_TEXT && duration && worst->number >= 0)
		return (struct ada_cell){ .text = ada_format_duration((uint64_t)worst->number, text) };
	return (struct ada_cell){ .text = json_object_get_string(worst->value) };
}

static int compare_values(const void *left, const void *right)
{
	const struct row *a = left, *b = right;

	if (!a->worst.value != !b->worst.value)
		return !a->worst.value - !b->worst.value;
	if (a->worst.value && a->worst.number != b->worst.number)
		return a->worst.number > b->worst.number ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

/* The windows in the order that is asked for; NULL: no memory. */
static struct row *make_rows(const struct ada_session *session, bool by_value)
{
	struct row *rows = calloc(session->windows.count + 1, sizeof *rows);

	for (size_t i = 0; rows && i < session->windows.count; i++)
		rows[i] = (struct row){ i, worst_of(session->windows.items[i].entry) };
	if (rows && by_value)
		qsort(rows, session->windows.count, sizeof *rows, compare_values);
	return rows;
}

static void add_row(struct ada_rows *rows, const struct ada_session *session, const struct row *row)
{
	const struct ada_recorded_window *window = &session->windows.items[row->number];
	char name[ADA_NAME_BUFFER], value[ADA_UNITS_TEXT];
	const json_object *entry = window->entry;
	struct ada_mark_span span;
	bool open = window->end_ns == UINT64_MAX;
	char start[ADA_CLOCK_TEXT], rolls[4][ADA_UNITS_TEXT], told[2][ADA_UNITS_TEXT], *kinds = ada_window_kinds(entry);

	ada_rows_add(rows, (const struct ada_cell[FIELDS]){
				   [WINDOW] = { .number = row->number },
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
				   [SHORT] = short_of(entry, rows->format),
				   [FUNCTION] = function_of(window->process, &row->worst, name),
				   [KEY] = key_of(window->process, &row->worst, &span),
				   [VALUE] = value_of(&row->worst, rows->format, value),
				   [CLOCK_START_NS] = told_of(session, window->start_ns, told[0]),
				   [CLOCK_END_NS] = told_of(session, window->end_ns, told[1]),
			   });
	free(kinds);
}

/* The manifest's object as it is, behind the window's number and its process. */
static void print_entry(struct ada_output *output, const struct ada_session *session, const struct row *row, bool has_clock)
{
	const struct ada_recorded_window *window = &session->windows.items[row->number];
	const char *fields = json_object_to_json_string_ext((json_object *)window->entry, JSON_C_TO_STRING_PLAIN);
	char told[2][ADA_UNITS_TEXT];

	ada_output_string(output, "{\"window\": ");
	ada_output_u64(output, row->number);
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

static void print_json(struct ada_output *output, const struct ada_session *session, const struct row *rows, bool has_clock)
{
	struct ada_completeness completeness = ada_session_completeness(session);

	ada_output_string(output, "{\"rows\": [");
	for (size_t i = 0; i < session->windows.count; i++) {
		ada_output_string(output, i ? ",\n" : "");
		print_entry(output, session, &rows[i], has_clock);
	}
	ada_output_string(output, "],\n");
	ada_completeness_json(output, &completeness);
}

static const char *no_window(const struct ada_session *session)
{
	for (size_t i = 0; i < session->processes.count; i++)
		if (!session->processes.items[i]->manifest)
			return "No window is known: they are in the manifest, which can't be read.\n";
	for (size_t i = 0; i < session->processes.count; i++)
		if (ada_process_is_live(session->processes.items[i]))
			return "No window yet: nothing marked, or a mark of this moment isn't entered yet, or detail is off.\n";
	return "No window: nothing marked, or detail was off.\n";
}

static bool any_value(const struct ada_session *session, const struct row *rows)
{
	for (size_t i = 0; i < session->windows.count; i++)
		if (rows[i].worst.value)
			return true;
	return false;
}

static bool any_key(const struct ada_session *session, const struct row *rows)
{
	for (size_t i = 0; i < session->windows.count; i++)
		if (ada_json_get(rows[i].worst.mark, "begin"))
			return true;
	return false;
}

static void print_table(struct ada_output *output, const struct ada_session *session, const struct row *order, enum ada_format format,
			bool has_clock)
{
	struct ada_completeness completeness;
	struct ada_column shown[FIELDS];
	struct ada_rows rows;

	memcpy(shown, columns, sizeof shown);
	if (!any_value(session, order)) /* TRIGGERS says enough */
		shown[FUNCTION].title = shown[VALUE].title = NULL;
	if (!any_key(session, order))
		shown[KEY].title = NULL;
	if (format == ADA_FORMAT_TEXT && !session->windows.count) {
		ada_output_string(output, no_window(session));
	} else {
		ada_rows_open(&rows, output, format, "rows", shown, has_clock ? FIELDS : FIELDS_BOOT);
		rows.spares = "preRollSec postRollSec eventCount shortReason function";
		for (size_t i = 0; i < session->windows.count; i++)
			add_row(&rows, session, &order[i]);
		ada_rows_close(&rows);
	}
	if (format != ADA_FORMAT_TEXT)
		return;
	completeness = ada_session_completeness(session);
	ada_completeness_text(output, &completeness);
}

int ada_windows_table(struct ada_output *output, const struct ada_session *session)
{
	struct row *rows = make_rows(session, false);

	if (rows)
		print_table(output, session, rows, ADA_FORMAT_TEXT, false);
	free(rows);
	return rows ? 0 : -ENOMEM;
}

int ada_cmd_windows(int argc, char **argv)
{
	static struct ada_output output;
	struct ada_options options = { .sort = "start" };
	struct ada_session *session;
	struct ada_error error = {};
	struct row *rows;
	int status;

	ada_options_take(&options, &usage, argc, argv);
	if (strcmp(options.sort, "start") && strcmp(options.sort, "value"))
		ada_options_fail(argv[0], "can't sort by '%s': it is start or value", options.sort);
	status = ada_answer_open(argv[0], &options, &session);
	if (status)
		return status;
	ada_output_open(&output, STDOUT_FILENO);
	rows = make_rows(session, !strcmp(options.sort, "value"));
	if (!rows)
		ada_error_system(&error, ENOMEM, "%s", session->path);
	if (!rows || ada_clock_view_set(session, options.clock, &error)) {
		status = ada_answer_fail(argv[0], &error);
	} else {
		if (options.format == ADA_FORMAT_JSON)
			print_json(&output, session, rows, options.clock);
		else
			print_table(&output, session, rows, options.format, options.clock);
		status = ada_answer_finish(argv[0], &output, session);
	}
	free(rows);
	ada_session_close(session);
	return status;
}
