/* ada dump: the timeline of all threads, a line an event. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/hash.h"
#include "base/units.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/dump_detail.h"
#include "cli/rows.h"
#include "query/source.h"
#include "query/timeline.h"

#define TIME_WIDTH 25			/* of time and thread id in a line of text */
#define INDENT_MAX 64			/* levels; deeper calls show their depth as a number instead */

struct options {
	struct ada_reading reading;
	struct ada_narrowing narrowing;
	const char *function;
	bool detail, source;
	uint64_t first_seq, last_seq;	/* both inclusive */
};

enum { OPTION_DETAIL = 0x2000, OPTION_SEQ, OPTION_SOURCE };

/* What is printed of a function, quoted for the format once and for all. */
struct name {
	char *function, *module;
	char *file;			/* NULL: not known, or not asked for */
	uint32_t line;
	bool wanted;			/* by --function */
};

struct dump {
	const struct ada_session *session;
	const struct options *options;
	struct ada_output *output;
	struct ada_table numbers;	/* function key -> number in names */
	ADA_ARRAY(struct name) names;
	bool several;			/* the session holds several processes: rows say which */
	bool colours;
};

/* FROM-TO, or one number. */
static void parse_seq(struct argp_state *state, const char *argument, struct options *options)
{
	struct ada_error error = {};
	const char *dash = strchr(argument, '-');
	char first[32];

	snprintf(first, sizeof first, "%.*s", dash ? (int)(dash - argument < 31 ? dash - argument : 31) : 31, argument);
	if (ada_parse_count(first, 0, UINT64_MAX - 1, &options->first_seq, &error) ||
	    ada_parse_count(dash ? dash + 1 : first, 0, UINT64_MAX - 1, &options->last_seq, &error))
		ada_options_fail(state, "--seq: %s (write it like 120-135)", error.text);
	if (options->first_seq > options->last_seq)
		ada_options_fail(state, "--seq=%s: the first number is above the last", argument);
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->reading;
		state->child_inputs[1] = &options->narrowing;
		options->last_seq = UINT64_MAX;
		return 0;
	case OPTION_SEQ:
		parse_seq(state, argument, options);
		return 0;
	case 'F':
		options->function = argument;
		return 0;
	case OPTION_DETAIL:
		options->detail = true;
		return 0;
	case OPTION_SOURCE:
		options->source = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = (const struct argp_option[]){
		{ "function", 'F', "NAME", 0, "only its events (name or glob), and losses", 0 },
		{ "seq", OPTION_SEQ, "FROM-TO", 0, "only events with these index_seq, both included; best with --thread", 0 },
		{ "detail", OPTION_DETAIL, NULL, 0, "arguments, registers and stack, where kept", 0 },
		{ "source", OPTION_SOURCE, NULL, 0, "where each function is written: file and line", 0 },
		{},
	},
	.parser = parse_option,
	.doc = "Prints the events of all threads in the order of time."
	       "\vText lines hold the time since the session's start in seconds, the thread id, and indented by depth: > call,"
	       " < return, ! left by an exception or jump (each with the call's duration), ~ events lost here. --format=json"
	       " prints an object a line, the last one the completeness.",
	.children = (const struct argp_child[]){ { .argp = &ada_reading_argp }, { .argp = &ada_narrowing_argp }, {} },
};

static void free_name(struct name *name)
{
	free(name->function);
	free(name->module);
	free(name->file);
}

static int make_name(struct dump *dump, const struct ada_moment *moment, struct name *name)
{
	struct ada_module *module = ada_process_module(moment->thread->process, moment->event->function_id);
	enum ada_format format = dump->options->reading.format;
	uint64_t id = moment->event->function_id;
	struct ada_symbol *symbol = ada_module_symbol(module, ADA_FUNCTION_SYMBOL(id));
	char buffer[ADA_NAME_BUFFER];
	const char *function = ada_module_function(module, id, buffer), *file;

	*name = (struct name){};
	if (dump->options->source && module && ada_module_source(module, ADA_FUNCTION_SYMBOL(id), &file, &name->line))
		name->file = ada_output_prepare(format, file);
	name->function = ada_output_prepare(format, function);
	name->module = ada_output_prepare(format, ada_module_name(module));
	name->wanted = !dump->options->function ||
		       ada_name_matches(dump->options->function, symbol ? symbol->mangled : "", function);
	if (name->function && name->module)
		return 0;
	free_name(name);
	return -ENOMEM;
}

/* NULL: no memory. */
static const struct name *find_name(struct dump *dump, const struct ada_moment *moment)
{
	uint64_t key = ada_process_function_key(moment->thread->process, moment->event->function_id), number;
	struct name name;

	if (ada_table_get(&dump->numbers, key, &number))
		return &dump->names.items[number];
	number = dump->names.count;
	if (make_name(dump, moment, &name))
		return NULL;
	if (ada_array_push(&dump->names, name)) {
		free_name(&name);
		return NULL;
	}
	return ada_table_put(&dump->numbers, key, number) ? NULL : &dump->names.items[number];
}

static const char *kind_name(uint32_t kind)
{
	switch (kind) {
	case ADA_EVENT_CALL: return "call";
	case ADA_EVENT_RETURN: return "return";
	case ADA_EVENT_EXCEPTION: return "exception";
	case ADA_EVENT_LOST: return "lost";
	}
	return NULL;
}

/* --- the formats; name is NULL for a loss ------------------------------------------------------------------------------ */

static void put_padded(struct ada_output *output, uint64_t number, unsigned int width)
{
	uint64_t limit = 10;

	for (; --width && number >= limit; limit *= 10)
		;
	ada_output_spaces(output, width);
	ada_output_u64(output, number);
}

/* Seconds since the start with all nine digits: times that are compared by eye must line up. */
static void put_time(struct dump *dump, uint64_t ns)
{
	uint64_t start_ns = dump->session->start_ns;
	uint64_t since = ns > start_ns ? ns - start_ns : 0;
	uint64_t fraction = since % 1000000000;
	char text[10] = ".";

	put_padded(dump->output, since / 1000000000, 5);
	for (int i = 9; i >= 1; i--, fraction /= 10)
		text[i] = '0' + fraction % 10;
	ada_output_bytes(dump->output, text, sizeof text);
}

/* "f(a=1)" of a call, "f = 1" of a return, where that is known. */
static void put_function(struct ada_output *output, const struct name *name, const struct ada_arguments *arguments)
{
	char *text = ada_arguments_text(arguments);

	if (!text || arguments->is_return) {
		if (arguments->known)
			ada_output_text(output, arguments->function);
		else
			ada_output_string(output, name->function);
	}
	if (text) {
		ada_output_spaces(output, arguments->is_return);
		ada_output_text(output, text);
	}
	free(text);
}

static void put_text(struct dump *dump, const struct ada_moment *moment, const struct name *name,
		     const struct atf_detail *detail, const struct ada_arguments *arguments)
{
	static const char marks[] = { [ADA_EVENT_CALL] = '>', [ADA_EVENT_RETURN] = '<', [ADA_EVENT_EXCEPTION] = '!',
				      [ADA_EVENT_LOST] = '~' };
	const struct ada_event *event = moment->event;
	struct ada_output *output = dump->output;
	bool notable = dump->colours && event->event_kind >= ADA_EVENT_EXCEPTION;
	char text[ADA_UNITS_TEXT];

	put_time(dump, event->timestamp_ns);
	put_padded(output, moment->thread->tid, 9);
	ada_output_spaces(output, 2 + 2 * (event->call_depth < INDENT_MAX ? event->call_depth : INDENT_MAX));
	if (notable)
		ada_output_string(output, "\033[31m");
	ada_output_bytes(output, &marks[event->event_kind], 1);
	if (event->call_depth > INDENT_MAX) {
		ada_output_string(output, " [");
		ada_output_u64(output, event->call_depth);
		ada_output_string(output, "]");
	}
	ada_output_spaces(output, 1);
	if (name) {
		put_function(output, name, arguments);
	} else {
		ada_output_u64(output, event->function_id);
		ada_output_string(output, " events lost");
	}
	if (notable)
		ada_output_string(output, "\033[0m");
	if (moment->duration_known) {
		ada_output_spaces(output, 2);
		ada_output_string(output, ada_format_duration(moment->duration_ns, text));
	}
	if (name && name->file && event->event_kind == ADA_EVENT_CALL) {
		ada_output_string(output, "  at ");
		ada_output_string(output, name->file);
		ada_output_string(output, ":");
		ada_output_u64(output, name->line);
	}
	ada_output_string(output, "\n");
	ada_detail_text(output, detail, TIME_WIDTH + 4 + 2 * (event->call_depth < INDENT_MAX ? event->call_depth : INDENT_MAX));
}

static void put_json_number(struct ada_output *output, const char *field, uint64_t number)
{
	ada_output_string(output, field);
	ada_output_u64(output, number);
}

static void put_json(struct dump *dump, const struct ada_moment *moment, const struct name *name,
		     const struct atf_detail *detail, const struct ada_arguments *arguments)
{
	const struct ada_event *event = moment->event;
	struct ada_output *output = dump->output;

	put_json_number(output, "{\"timestamp_ns\": ", event->timestamp_ns);
	put_json_number(output, ", \"thread\": ", moment->thread->number);
	put_json_number(output, ", \"tid\": ", moment->thread->tid);
	put_json_number(output, ", \"index_seq\": ", moment->position);
	ada_output_string(output, ", \"kind\": \"");
	ada_output_string(output, kind_name(event->event_kind));
	ada_output_string(output, "\", \"function\": ");
	ada_output_string(output, name ? name->function : "null");
	ada_output_string(output, ", \"module\": ");
	ada_output_string(output, name ? name->module : "null");
	put_json_number(output, ", \"depth\": ", event->call_depth);
	if (event->detail_seq == ADA_NO_DETAIL)
		ada_output_string(output, ", \"detail_seq\": null");
	else
		put_json_number(output, ", \"detail_seq\": ", event->detail_seq);
	if (dump->options->detail) {
		ada_output_string(output, ", \"detail\": ");
		ada_detail_json(output, detail, arguments);
	}
	if (dump->options->source) {
		ada_output_string(output, ", \"file\": ");
		ada_output_string(output, name && name->file ? name->file : "null");
		if (name && name->file)
			put_json_number(output, ", \"line\": ", name->line);
		else
			ada_output_string(output, ", \"line\": null");
	}
	if (!name)
		put_json_number(output, ", \"lost\": ", event->function_id);
	if (dump->several) {
		ada_output_string(output, ", \"process\": ");
		ada_output_json(output, moment->thread->process->directory);
	}
	ada_output_string(output, "}\n");
}

static void put_csv_number(struct ada_output *output, uint64_t number)
{
	ada_output_u64(output, number);
	ada_output_bytes(output, ",", 1);
}

static void put_csv(struct dump *dump, const struct ada_moment *moment, const struct name *name,
		    const struct atf_detail *detail, const struct ada_arguments *arguments)
{
	const struct ada_event *event = moment->event;
	struct ada_output *output = dump->output;

	put_csv_number(output, event->timestamp_ns);
	put_csv_number(output, moment->thread->number);
	put_csv_number(output, moment->thread->tid);
	put_csv_number(output, moment->position);
	ada_output_string(output, kind_name(event->event_kind));
	ada_output_string(output, ",");
	ada_output_string(output, name ? name->function : "");
	ada_output_string(output, ",");
	ada_output_string(output, name ? name->module : "");
	ada_output_string(output, ",");
	put_csv_number(output, event->call_depth);
	if (event->detail_seq != ADA_NO_DETAIL)
		ada_output_u64(output, event->detail_seq);
	ada_output_string(output, ",");
	if (!name)
		ada_output_u64(output, event->function_id);
	if (dump->options->detail)
		ada_detail_csv(output, detail);
	if (dump->several) {
		ada_output_string(output, ",");
		ada_output_csv(output, moment->thread->process->directory);
	}
	if (dump->options->detail)
		ada_detail_csv_end(output, arguments);
	if (dump->options->source) {
		ada_output_string(output, ",");
		ada_output_string(output, name && name->file ? name->file : "");
		ada_output_string(output, ",");
		if (name && name->file)
			ada_output_u64(output, name->line);
	}
	ada_output_string(output, "\n");
}

/* --- all of it --------------------------------------------------------------------------------------------------------- */

static void put_moment(struct dump *dump, const struct ada_moment *moment, const struct name *name)
{
	struct atf_detail record;
	const struct atf_detail *detail = dump->options->detail && ada_detail_of(moment, &record) ? &record : NULL;
	struct ada_arguments arguments = {};

	/* Without memory for them the registers still say it. */
	if (detail)
		ada_arguments_decode(&arguments, moment->thread, detail);

	switch (dump->options->reading.format) {
	case ADA_FORMAT_TEXT:
		put_text(dump, moment, name, detail, &arguments);
		break;
	case ADA_FORMAT_JSON:
		put_json(dump, moment, name, detail, &arguments);
		break;
	case ADA_FORMAT_CSV:
		put_csv(dump, moment, name, detail, &arguments);
		break;
	}
	ada_arguments_free(&arguments);
}

static int put_moments(struct dump *dump, struct ada_timeline *timeline)
{
	uint64_t left = dump->options->narrowing.limit;
	struct ada_moment moment;

	while (left && !dump->output->error && ada_timeline_next(timeline, &moment)) {
		const struct name *name = NULL;

		if (!kind_name(moment.event->event_kind) || moment.position < dump->options->first_seq ||
		    moment.position > dump->options->last_seq)
			continue;
		if (moment.event->event_kind != ADA_EVENT_LOST) {
			name = find_name(dump, &moment);
			if (!name)
				return -ENOMEM;
			if (!name->wanted)
				continue;
		}
		put_moment(dump, &moment, name);
		left--;
	}
	return 0;
}

/* To the time of the events that --seq names, so that the others cost nothing. */
static void narrow_to_seq(struct ada_selection *selection, const struct options *options)
{
	uint64_t from_ns = UINT64_MAX, to_ns = 0;

	if (options->last_seq == UINT64_MAX)
		return;
	for (size_t i = 0; i < selection->threads.count; i++) {
		const struct ada_thread *thread = selection->threads.items[i];
		uint64_t last = options->last_seq < thread->count ? options->last_seq : thread->count - 1, ns;

		if (options->first_seq >= thread->count)
			continue;
		ns = atf_thread_get(thread->events, options->first_seq)->timestamp_ns;
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
	enum ada_format format = dump->options->reading.format;
	struct ada_completeness completeness;
	struct ada_timeline *timeline;
	int result = ada_timeline_open(&timeline, selection, format == ADA_FORMAT_TEXT, error);

	if (result)
		return result;
	if (format == ADA_FORMAT_CSV) {
		ada_output_string(dump->output, "timestamp_ns,thread,tid,index_seq,kind,function,module,depth,detail_seq,lost");
		ada_output_string(dump->output, dump->options->detail ? "," ADA_DETAIL_CSV : "");
		ada_output_string(dump->output, dump->several ? ",process" : "");
		ada_output_string(dump->output, dump->options->detail ? "," ADA_DETAIL_CSV_END : "");
		ada_output_string(dump->output, dump->options->source ? ",file,line\n" : "\n");
	}
	result = put_moments(dump, timeline);
	if (result)
		ada_error_system(error, -result, "%s", dump->session->path);
	completeness = ada_timeline_completeness(timeline);
	if (format == ADA_FORMAT_JSON) {
		ada_output_string(dump->output, "{");
		ada_completeness_json(dump->output, &completeness);
	} else if (format == ADA_FORMAT_TEXT) {
		ada_completeness_text(dump->output, &completeness);
	}
	ada_timeline_close(timeline);
	return result;
}

int ada_cmd_dump(int argc, char **argv)
{
	static struct ada_output output;
	struct options options = {};
	struct dump dump = { .options = &options, .output = &output };
	struct ada_selection selection = {};
	struct ada_session *session = NULL;
	struct ada_error error = {};
	int status;

	ada_options_parse(&argp, argc, argv, 0, &options);
	status = ada_answer_open(argv[0], &options.reading, &session);
	if (status)
		return status;
	ada_output_open(&output, STDOUT_FILENO);
	dump.session = session;
	dump.several = session->processes.count > 1;
	dump.colours = ada_output_colours(STDOUT_FILENO);
	status = ada_answer_select(&selection, session, &options.narrowing, &error);
	if (!status) {
		narrow_to_seq(&selection, &options);
		status = put_timeline(&dump, &selection, &error);
	}
	status = status ? ada_answer_fail(argv[0], &error) : ada_answer_finish(argv[0], &output, session);
	for (size_t i = 0; i < dump.names.count; i++)
		free_name(&dump.names.items[i]);
	ada_array_free(&dump.names);
	ada_table_free(&dump.numbers);
	ada_selection_close(&selection);
	ada_session_close(session);
	return status;
}
