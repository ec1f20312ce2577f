/* ada dump: the timeline of all threads, a line an event. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/units.h"
#include "cli/ground/answer.h"
#include "cli/ground/rows.h"
#include "cli/show/commands.h"
#include "cli/show/dump_calls.h"
#include "cli/show/dump_event.h"
#include "cli/show/dump_names.h"

#define OBJECT_FAR 4096 /* events: a handler may run between a call and what it says of its object */

struct dump {
	const struct ada_session *session;
	const struct ada_options *options;
	uint64_t first_seq, last_seq; /* both inclusive; last_seq is UINT64_MAX without --seq */
	struct ada_dump rows;
	struct ada_dump_names names;
};

/* FROM-TO, or one number. */
static void parse_seq(const char *command, const char *argument, struct dump *dump)
{
	struct ada_error error = {};
	const char *dash = strchr(argument, '-');
	char first[32];

	snprintf(first, sizeof first, "%.*s", dash ? (int)(dash - argument < 31 ? dash - argument : 31) : 31, argument);
	if (ada_parse_count(first, 0, UINT64_MAX - 1, &dump->first_seq, &error) ||
	    ada_parse_count(dash ? dash + 1 : first, 0, UINT64_MAX - 1, &dump->last_seq, &error))
		ada_options_fail(command, "--seq: %s (write it like 120-135)", error.text);
	if (dump->first_seq > dump->last_seq)
		ada_options_fail(command, "--seq=%s: the first number is above the last", argument);
}

static const struct ada_usage usage = {
	"[SESSION]",
	"Prints the events of all threads in the order of time."
	"\vText lines hold the time since the session's start in seconds, the thread id, and indented by depth: > call,"
	" < return, ! left by an exception or jump (each with the call's duration; of a call that never returned > has \"open\" and"
	" for how long), @ the lock or other object of the call,"
	" ~ events lost here. --format=json"
	" prints an object a line, the last one the completeness.",
};

/* --- all of it --------------------------------------------------------------------------------------------------------- */

/* The call that an OBJECT or HOLDER event is about: the last one of its depth before it; as a rule that is the event before. NULL: too far away. */
static const struct ada_event *call_of_object(const struct ada_moment *moment)
{
	for (uint64_t back = 1; back <= moment->position && back <= OBJECT_FAR; back++) {
		const struct ada_event *event = atf_thread_get(moment->thread->events, moment->position - back);

		if (event && event->event_kind == ADA_EVENT_CALL && event->call_depth == moment->event->call_depth)
			return event;
	}
	return NULL;
}

/* *name: of the function that the event itself names. */
static int is_wanted(struct dump *dump, const struct ada_moment *moment, const struct ada_dump_name **name)
{
	bool object = moment->event->event_kind == ADA_EVENT_OBJECT || moment->event->event_kind == ADA_EVENT_HOLDER;
	const struct ada_event *of = moment->event;
	uint32_t depth = moment->event->call_depth;
	const struct ada_dump_name *of_function;

	*name = NULL;
	if (of->event_kind >= ADA_EVENT_LOST && !object)
		return true;
	if (dump->options->depth && depth >= dump->options->depth)
		return false;
	if (object && !(of = call_of_object(moment)))
		return !dump->options->functions.items.count && !dump->options->modules.items.count;
	of_function = ada_dump_name(&dump->names, moment->thread->process, of->function_id);
	if (!object)
		*name = of_function;
	return of_function ? of_function->wanted : -ENOMEM;
}

static int put_moments(struct dump *dump, struct ada_timeline *timeline)
{
	uint64_t left = dump->options->limit;
	struct ada_moment moment;

	while (left && !dump->rows.output->error && ada_timeline_next(timeline, &moment)) {
		const struct ada_dump_name *name;
		int wanted = ada_dump_kind(moment.event->event_kind) ? is_wanted(dump, &moment, &name) : 0;

		if (wanted < 0)
			return wanted;
		if (!wanted)
			continue;
		ada_dump_event(&dump->rows, &moment, name);
		left--;
	}
	return 0;
}

/* Narrows to the time of the events that --seq names, so that others cost nothing. */
static void narrow_to_seq(struct ada_selection *selection, const struct dump *dump)
{
	uint64_t from_ns = UINT64_MAX, to_ns = 0;

	if (dump->last_seq == UINT64_MAX)
		return;
	for (size_t i = 0; i < selection->threads.count; i++) {
		const struct ada_thread *thread = selection->threads.items[i];
		uint64_t last = dump->last_seq < thread->count ? dump->last_seq : thread->count - 1, ns;

		if (dump->first_seq >= thread->count)
			continue;
		ns = atf_thread_get(thread->events, dump->first_seq)->timestamp_ns;
		from_ns = ns < from_ns ? ns : from_ns;
		ns = atf_thread_get(thread->events, last)->timestamp_ns;
		to_ns = ns >= to_ns ? ns + 1 : to_ns;
	}
	if (from_ns > selection->from_ns)
		selection->from_ns = from_ns;
	if (to_ns < selection->to_ns)
		selection->to_ns = to_ns;
	if (selection->to_ns < selection->from_ns)
		selection->to_ns = selection->from_ns;
}

static int put_timeline(struct dump *dump, const struct ada_selection *selection, struct ada_error *error)
{
	enum ada_format format = dump->options->format;
	struct ada_completeness completeness;
	struct ada_timeline *timeline;
	int result = ada_timeline_open(&timeline, selection, format == ADA_FORMAT_TEXT, error);

	if (result)
		return result;
	if (dump->last_seq != UINT64_MAX)
		ada_timeline_narrow(timeline, dump->first_seq, dump->last_seq + 1);
	ada_dump_begin(&dump->rows);
	result = put_moments(dump, timeline);
	if (result)
		ada_error_system(error, -result, "%s", dump->session->path);
	completeness = ada_timeline_completeness(timeline);
	if (format == ADA_FORMAT_JSON) {
		ada_output_string(dump->rows.output, "{");
		ada_completeness_json(dump->rows.output, &completeness);
	} else if (format == ADA_FORMAT_TEXT) {
		ada_dump_unmatched(&dump->rows, dump->options);
		ada_completeness_text(dump->rows.output, &completeness);
	}
	ada_timeline_close(timeline);
	return result;
}

int ada_cmd_dump(int argc, char **argv)
{
	static struct ada_output output;
	struct ada_options options = {};
	struct dump dump = { .options = &options, .last_seq = UINT64_MAX };
	struct ada_selection selection = {};
	struct ada_session *session = NULL;
	struct ada_error error = {};
	int status;

	ada_options_take(&options, &usage, argc, argv);
	if (options.seq)
		parse_seq(argv[0], options.seq, &dump);
	options.calls |= options.min_duration_ns != 0;
	if (options.calls && (options.seq || options.source))
		ada_options_fail(argv[0], "--%s is about events, --calls and --min-duration are about calls: use one of them",
				 options.seq ? "seq" : "source");
	status = ada_answer_open(argv[0], &options, &session);
	if (status)
		return status;
	ada_output_open(&output, STDOUT_FILENO);
	dump.session = session;
	dump.rows = (struct ada_dump){ .output = &output,
				       .session = session,
				       .format = options.format,
				       .has_clock = options.clock,
				       .detail = options.detail,
				       .source = options.source,
				       .several = session->processes.count > 1,
				       .colours = ada_output_colours(STDOUT_FILENO) };
	dump.names.options = &options;
	status = ada_answer_select(&selection, session, &options, &error);
	if (!status && options.calls) {
		status = ada_dump_calls(&dump.rows, &selection, &dump.names, &error);
	} else if (!status) {
		narrow_to_seq(&selection, &dump);
		status = put_timeline(&dump, &selection, &error);
	}
	status = status ? ada_answer_fail(argv[0], &error) : ada_answer_finish(argv[0], &output, session);
	ada_dump_names_close(&dump.names);
	ada_selection_close(&selection);
	ada_session_close(session);
	ada_options_free(&options);
	return status;
}
