/* Two recordings in one answer. */
#include "cli/sums/compare.h"
#include <stdio.h>
#include <string.h>
#include "base/interrupt.h"
#include "base/units.h"
#include "cli/ground/rows.h"

int ada_compare_open(struct ada_comparison *comparison, const char *command, const struct ada_options *options)
{
	struct ada_options other = *options;
	struct ada_error error = {};
	int status;

	*comparison = (struct ada_comparison){ .clock = options->clock };
	other.session = options->diff;
	other.window = UINT64_MAX;
	status = ada_answer_open(command, options, &comparison->sessions[ADA_NOW]);
	if (!status && options->diff)
		status = ada_answer_open(command, &other, &comparison->sessions[ADA_BEFORE]);
	if (status)
		return status;
	if (ada_answer_select(&comparison->selections[ADA_NOW], comparison->sessions[ADA_NOW], options, &error) ||
	    (options->diff && ada_answer_select(&comparison->selections[ADA_BEFORE], comparison->sessions[ADA_BEFORE], &other, &error)))
		return ada_answer_fail(command, &error);
	ada_interrupt_catch();
	ada_progress_open(&comparison->progress, "reading", 0);
	for (int side = 0; side < ADA_SIDES; side++)
		comparison->selections[side].progress = &comparison->progress;
	return 0;
}

/* Times of the selection's first and last event; false: it has none. */
static bool find_bounds(const struct ada_selection *selection, uint64_t *first, uint64_t *last)
{
	uint64_t first_ns = UINT64_MAX, last_ns = 0;

	for (size_t i = 0; i < selection->threads.count; i++) {
		const struct ada_thread *thread = selection->threads.items[i];
		uint64_t begin, end;

		ada_selection_range(selection, thread, &begin, &end);
		if (begin >= end)
			continue;
		if (atf_thread_get(thread->events, begin)->timestamp_ns < first_ns)
			first_ns = atf_thread_get(thread->events, begin)->timestamp_ns;
		if (atf_thread_get(thread->events, end - 1)->timestamp_ns > last_ns)
			last_ns = atf_thread_get(thread->events, end - 1)->timestamp_ns;
	}
	*first = first_ns;
	*last = last_ns;
	return first_ns <= last_ns;
}

static uint64_t length_ns(const struct ada_selection *selection)
{
	uint64_t first_ns, last_ns;

	return find_bounds(selection, &first_ns, &last_ns) ? last_ns - first_ns : 0;
}

/* Puts when the events were, on the clock that the user asked for. */
static void put_clock(const struct ada_comparison *comparison, int side, enum ada_format format, struct ada_output *output)
{
	const struct ada_session *session = comparison->sessions[side];
	char text[2][ADA_CLOCK_TEXT];
	int64_t told[2] = {};
	uint64_t ns[2];
	bool known;

	if (!comparison->clock || !session || !find_bounds(&comparison->selections[side], &ns[0], &ns[1]))
		return;
	known = ada_clock_view_ns(&session->view, ns[0], &told[0]) && ada_clock_view_ns(&session->view, ns[1], &told[1]);
	for (int i = 0; i < 2; i++) {
		if (format == ADA_FORMAT_TEXT)
			ada_clock_view_text(session, ns[i], text[i]);
		else
			snprintf(text[i], ADA_CLOCK_TEXT, known ? "%lld" : "null", (long long)told[i]);
	}
	ada_output_string(output, format == ADA_FORMAT_TEXT ? "On clock " :
				  side == ADA_NOW	    ? "\"clock\": {\"name\": " :
							      "\"otherClock\": {\"name\": ");
	if (format == ADA_FORMAT_TEXT)
		ada_output_text(output, comparison->clock);
	else
		ada_output_json(output, comparison->clock);
	ada_output_string(output, format == ADA_FORMAT_TEXT ? " the events lie between " : ", \"first_ns\": ");
	ada_output_string(output, text[0]);
	ada_output_string(output, format == ADA_FORMAT_TEXT ? " and " : ", \"last_ns\": ");
	ada_output_string(output, text[1]);
	ada_output_string(output, format == ADA_FORMAT_TEXT ? ".\n" : "},\n");
}

static void put_json_end(const struct ada_comparison *comparison, struct ada_output *output)
{
	for (int side = 0; side < ADA_SIDES; side++)
		put_clock(comparison, side, ADA_FORMAT_JSON, output);
	if (comparison->sessions[ADA_BEFORE]) {
		ada_output_string(output, "\"session\": ");
		ada_output_json(output, comparison->sessions[ADA_NOW]->path);
		ada_output_string(output, ", \"length_ns\": ");
		ada_output_u64(output, length_ns(&comparison->selections[ADA_NOW]));
		ada_output_string(output, ",\n\"otherSession\": ");
		ada_output_json(output, comparison->sessions[ADA_BEFORE]->path);
		ada_output_string(output, ", \"otherLength_ns\": ");
		ada_output_u64(output, length_ns(&comparison->selections[ADA_BEFORE]));
		ada_output_string(output, ",\n\"otherCompleteness\": ");
		ada_completeness_object(output, &comparison->completeness[ADA_BEFORE]);
		ada_output_string(output, ",\n");
	}
	ada_completeness_json(output, &comparison->completeness[ADA_NOW]);
}

static void put_side(const struct ada_comparison *comparison, int side, struct ada_output *output)
{
	char text[ADA_UNITS_TEXT];

	ada_output_string(output, side == ADA_NOW ? "now     " : "before  ");
	ada_output_text(output, comparison->sessions[side]->path);
	ada_output_string(output, ": ");
	ada_output_string(output, ada_format_duration(length_ns(&comparison->selections[side]), text));
	ada_output_string(output, ", ");
	ada_completeness_text(output, &comparison->completeness[side]);
}

void ada_compare_put_end(const struct ada_comparison *comparison, enum ada_format format, struct ada_output *output)
{
	if (format == ADA_FORMAT_JSON) {
		put_json_end(comparison, output);
	} else if (format == ADA_FORMAT_TEXT && comparison->sessions[ADA_BEFORE]) {
		for (int side = 0; side < ADA_SIDES; side++) {
			put_side(comparison, side, output);
			put_clock(comparison, side, format, output);
		}
	} else if (format == ADA_FORMAT_TEXT) {
		put_clock(comparison, ADA_NOW, format, output);
		ada_completeness_text(output, &comparison->completeness[ADA_NOW]);
	}
}

int ada_compare_fail(struct ada_comparison *comparison, const char *command, const struct ada_error *error)
{
	ada_progress_close(&comparison->progress);
	return ada_interrupted() ? ada_interrupt_status() : ada_answer_fail(command, error);
}

int ada_compare_finish(struct ada_comparison *comparison, const char *command, struct ada_output *output)
{
	int status, other = 0;

	ada_progress_close(&comparison->progress);
	status = ada_answer_finish(command, output, comparison->sessions[ADA_NOW]);
	if (comparison->sessions[ADA_BEFORE] && comparison->sessions[ADA_BEFORE]->problems.count &&
	    strcmp(comparison->sessions[ADA_BEFORE]->path, comparison->sessions[ADA_NOW]->path))
		other = ada_answer_finish(command, output, comparison->sessions[ADA_BEFORE]);
	return status ? status : other;
}

void ada_compare_close(struct ada_comparison *comparison)
{
	for (int side = 0; side < ADA_SIDES; side++) {
		ada_selection_close(&comparison->selections[side]);
		ada_session_close(comparison->sessions[side]);
	}
}

char *ada_compare_change(char text[ADA_COMPARE_TEXT], enum ada_format format, bool duration, uint64_t now, uint64_t before)
{
	uint64_t change = now > before ? now - before : before - now;
	const char *sign = now > before && format == ADA_FORMAT_TEXT ? "+" : now < before ? "-" : "";
	char units[ADA_UNITS_TEXT];

	if (format == ADA_FORMAT_TEXT && duration)
		snprintf(text, ADA_COMPARE_TEXT, "%s%s", sign, ada_format_duration(change, units));
	else
		snprintf(text, ADA_COMPARE_TEXT, "%s%llu", sign, (unsigned long long)change);
	return text;
}

char *ada_compare_ratio(char text[ADA_COMPARE_TEXT], uint64_t now, uint64_t before)
{
	if (!before)
		return NULL;
	snprintf(text, ADA_COMPARE_TEXT, "%.4g", (double)now / before);
	return text;
}
