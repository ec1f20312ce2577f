#include "cli/record/trigger_test.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/units.h"
#include "cli/ground/answer.h"
#include "cli/ground/rows.h"
#include "query/replay/replay.h"

/* TIME is for text alone: data begins behind it. */
enum field { TIME, TIMESTAMP, THREAD, TID, PID, INDEX_SEQ, VALUE, FUNCTION, FIELDS };

/* In text a value has its unit; else it is a number, or the name of a caller. */
static void set_columns(struct ada_column columns[FIELDS], bool text, enum ada_rule_kind kind)
{
	static const struct ada_column all[FIELDS] = {
		[TIME] = { "time", "TIME", ADA_CELL_TEXT },	    [TIMESTAMP] = { "timestamp_ns", NULL, ADA_CELL_NUMBER },
		[THREAD] = { "thread", "THREAD", ADA_CELL_NUMBER }, [TID] = { "tid", "TID", ADA_CELL_NUMBER },
		[PID] = { "pid", "PID", ADA_CELL_NUMBER },	    [INDEX_SEQ] = { "index_seq", "EVENT", ADA_CELL_NUMBER },
		[VALUE] = { "value", "VALUE", ADA_CELL_NAME },	    [FUNCTION] = { "function", "FUNCTION", ADA_CELL_NAME }
	};

	memcpy(columns, all, sizeof all);
	columns[VALUE].kind = text ? ADA_CELL_TEXT : kind == ADA_RULE_NEW_CALLER ? ADA_CELL_NAME : ADA_CELL_WRITTEN;
}

struct answer {
	const struct ada_trigger_test *test;
	const struct ada_session *session;
	struct ada_rows rows;
	uint64_t shown;
	bool failed;
};

static const char *value_text(const struct ada_replay_hit *hit, bool text, char *buffer, size_t size)
{
	char units[ADA_UNITS_TEXT];

	switch (hit->kind) {
	case ADA_REPLAY_NUMBER: snprintf(buffer, size, "%llu", (unsigned long long)hit->value.u); break;
	case ADA_REPLAY_SIGNED: snprintf(buffer, size, "%lld", (long long)hit->value.i); break;
	case ADA_REPLAY_REAL: snprintf(buffer, size, "%.17g", hit->value.f); break;
	case ADA_REPLAY_NS:
		if (text)
			snprintf(buffer, size, "%s", ada_format_duration(hit->value.u, units));
		else
			snprintf(buffer, size, "%llu", (unsigned long long)hit->value.u);
		break;
	case ADA_REPLAY_NAME: return ada_module_function(ada_process_module(hit->process, hit->value.u), hit->value.u, buffer);
	case ADA_REPLAY_NO_VALUE: return "";
	}
	return buffer;
}

static void add_row(void *context, const struct ada_replay_hit *hit)
{
	struct answer *answer = context;
	bool text = answer->test->options->format == ADA_FORMAT_TEXT;
	char name[ADA_NAME_BUFFER], value[ADA_NAME_BUFFER], time[ADA_UNITS_TEXT];
	uint64_t offset = hit->ns - answer->session->start_ns;
	struct ada_cell cells[FIELDS] = { [TIME] = { .text = time }, [TIMESTAMP] = { .number = hit->ns }, [FUNCTION] = { .absent = true } };

	if (answer->shown++ >= answer->test->options->limit)
		return;
	snprintf(time, sizeof time, "+%llu.%09llus", (unsigned long long)(offset / 1000000000), (unsigned long long)(offset % 1000000000));
	cells[THREAD] = (struct ada_cell){ .number = hit->thread ? hit->thread->number : 0, .absent = !hit->thread };
	cells[TID] = (struct ada_cell){ .number = hit->thread ? hit->thread->tid : 0, .absent = !hit->thread };
	cells[PID].number = hit->process->pid;
	cells[INDEX_SEQ] = (struct ada_cell){ .number = hit->index_seq, .absent = hit->index_seq == UINT64_MAX };
	if (hit->index_seq != UINT64_MAX)
		cells[FUNCTION] = (struct ada_cell){ .text = ada_module_function(ada_process_module(hit->process, hit->function_id),
										 hit->function_id, name) };
	cells[VALUE] = (struct ada_cell){ .text = value_text(hit, text, value, sizeof value),
					  .absent = hit->kind == ADA_REPLAY_NO_VALUE ||
						    (hit->kind == ADA_REPLAY_REAL && !isfinite(hit->value.f) && !text) };
	if (ada_rows_add(&answer->rows, text ? cells : cells + 1))
		answer->failed = true;
}

static void print_end(struct ada_output *output, const struct ada_replay *replay, const struct ada_trigger_test *test)
{
	char line[256];

	if (test->options->format == ADA_FORMAT_JSON) {
		snprintf(line, sizeof line, "\"matches\": %llu, \"marks\": %llu, \"untold\": %llu,\n", (unsigned long long)replay->matches,
			 (unsigned long long)replay->marks, (unsigned long long)replay->untold);
		ada_output_string(output, line);
		ada_completeness_json(output, &replay->completeness);
	} else if (test->options->format == ADA_FORMAT_TEXT) {
		snprintf(line, sizeof line, "%s%llu match%s, of which %llu would have marked.\n", replay->marks ? "\n" : "",
			 (unsigned long long)replay->matches, replay->matches == 1 ? "" : "es", (unsigned long long)replay->marks);
		ada_output_string(output, line);
		if (replay->untold) {
			snprintf(line, sizeof line, "Of %llu events it can't be told: their detail was not kept.\n",
				 (unsigned long long)replay->untold);
			ada_output_string(output, line);
		}
		ada_completeness_text(output, &replay->completeness);
	}
}

static void warn(void *context, const char *text)
{
	const struct ada_trigger_test *test = context;

	fprintf(stderr, "%s: '%s': %s\n", test->command, test->rule, text);
}

static int replay(const struct ada_trigger_test *test, const struct ada_session *session, const struct ada_trigger *trigger,
		  struct ada_error *error)
{
	static struct ada_output output;
	bool text = test->options->format == ADA_FORMAT_TEXT;
	struct answer answer = { .test = test, .session = session };
	struct ada_selection selection;
	struct ada_replay run = { .selection = &selection, .trigger = trigger, .found = add_row, .context = &answer };
	struct ada_column columns[FIELDS];
	int status = ada_selection_open(&selection, session, NULL, NULL, NULL, error);

	if (status)
		return status;
	set_columns(columns, text, trigger->kind);
	ada_output_open(&output, STDOUT_FILENO);
	if (test->options->format == ADA_FORMAT_JSON)
		ada_output_string(&output, "{");
	ada_rows_open(&answer.rows, &output, test->options->format, "rows", columns + !text, FIELDS - !text);
	status = ada_replay_run(&run, error);
	if (!status && answer.failed)
		status = ada_error_set(error, 12, "out of memory");
	if (status) {
		ada_selection_close(&selection);
		return status;
	}
	ada_rows_close(&answer.rows);
	print_end(&output, &run, test);
	ada_selection_close(&selection);
	return ada_answer_finish(test->command, &output, session);
}

int ada_trigger_test(const struct ada_trigger_test *test)
{
	struct ada_error error = { "" }, reason = { "" };
	struct ada_session *session;
	struct ada_trigger *trigger;
	int status;

	if (ada_trigger_parse(&trigger, test->rule, false, warn, (void *)test, &reason)) {
		ada_error_set(&error, 22, "'%s': %s", test->rule, reason.text);
		return ada_answer_fail(test->command, &error);
	}
	status = ada_answer_open(test->command, test->options, &session);
	if (!status) {
		status = replay(test, session, trigger, &error);
		if (status < 0)
			status = ada_answer_fail(test->command, &error);
		ada_session_close(session);
	}
	ada_trigger_free(trigger);
	return status;
}
